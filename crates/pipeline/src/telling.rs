//! [`Telling`]: letting a reader follow an answer while it is being written.

use std::fmt;

use domain::Hit;
use template::citations::Checked;
use template::sentence::sentences;

/// What a reader hears before the answer is complete.
#[derive(Clone, Debug)]
pub enum Event {
    /// The passages in hand once retrieval has settled, best first.
    Sources(Vec<Hit>),
    /// Whole sentences with their marks final. All of them joined are the answer's text, unless the answer
    /// turns out to be another one after all.
    Text(String),
}

/// Whom to tell. Must not block.
pub(crate) type Listener<'a> = &'a mut (dyn FnMut(Event) + Send);

/// Tells of an answer piece by piece.
pub(crate) struct Telling<'a> {
    listener: Option<Listener<'a>>,
    /// What has been told.
    told: String,
    /// How far the raw text has been looked at.
    looked_at: usize,
}

impl<'a> Telling<'a> {
    pub(crate) fn new(listener: Option<Listener<'a>>) -> Self {
        Self { listener, told: String::new(), looked_at: 0 }
    }

    /// Whether anything has reached the reader.
    pub(crate) fn has_told(&self) -> bool {
        !self.told.is_empty()
    }

    pub(crate) fn sources(&mut self, hits: &[Hit]) {
        if let Some(listener) = &mut self.listener {
            listener(Event::Sources(hits.to_vec()));
        }
    }

    /// Tells the sentences of `raw` that are whole: those that another one follows, because marks behind a
    /// sentence belong to it. Nothing is told before one sentence stands on what it cites, because a text
    /// without any such will not be the answer.
    pub(crate) fn so_far(&mut self, raw: &str, check: impl FnOnce(&str) -> Checked) {
        if self.listener.is_none() {
            return;
        }
        let ranges = sentences(raw);
        let Some([.., last_whole, _unfinished]) = ranges.get(..) else { return };
        if last_whole.end == self.looked_at {
            return;
        }
        self.looked_at = last_whole.end;
        let whole = raw.get(..last_whole.end).unwrap_or_default();
        let checked = check(whole);
        if checked.supported {
            self.up_to(&checked.text);
        }
    }

    /// Tells what of the answer's `text` has not been told yet, if what has been told is part of it.
    pub(crate) fn up_to(&mut self, text: &str) {
        let Some(listener) = &mut self.listener else { return };
        let Some(rest) = text.strip_prefix(self.told.as_str()).filter(|rest| !rest.is_empty())
        else {
            return;
        };
        listener(Event::Text(rest.to_owned()));
        self.told.push_str(rest);
    }
}

impl fmt::Debug for Telling<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telling").field("told", &self.told.len()).finish_non_exhaustive()
    }
}
