//! [`Drafts`]: the texts that models write for one request, one call after the other.

use std::sync::Arc;

use domain::{Delta, Usage};
use tokio::time::Instant;

use crate::calls::{Fate, ModelCall};
use crate::policy::Model;
use crate::tally::Tally;
use crate::writing::{Ending, Writing};

/// The text being written, the calls before it, and the best of what they left.
#[derive(Debug)]
pub(crate) struct Drafts {
    start: Instant,
    tally: Arc<Tally>,
    open: Option<Draft>,
    closed: Vec<Closed>,
}

#[derive(Debug)]
struct Draft {
    model: Model,
    name: String,
    attempt: u32,
    began: Instant,
    first_token: Option<Instant>,
    writing: Writing,
}

/// A draft that nothing will be added to.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) model: Model,
    pub(crate) writing: Writing,
    pub(crate) call: ModelCall,
}

impl Drafts {
    pub(crate) fn new(start: Instant, tally: Arc<Tally>) -> Self {
        Self { start, tally, open: None, closed: Vec::new() }
    }

    /// Begins the next draft.
    pub(crate) fn begin(&mut self, model: Model, name: &str, attempt: u32, now: Instant) {
        self.open = Some(Draft {
            model,
            name: name.to_owned(),
            attempt,
            began: now,
            first_token: None,
            writing: Writing::default(),
        });
    }

    /// Takes in one event of the stream.
    pub(crate) fn add(&mut self, delta: Delta, now: Instant) {
        let Some(draft) = &mut self.open else { return };
        if matches!(delta, Delta::Text(_)) {
            draft.first_token.get_or_insert(now);
        }
        draft.writing.add(delta);
    }

    /// What is being written.
    pub(crate) fn writing(&self) -> Option<&Writing> {
        self.open.as_ref().map(|draft| &draft.writing)
    }

    /// Ends the draft under way.
    pub(crate) fn close(&mut self, now: Instant, fate: Fate) {
        if let Some(draft) = self.open.take() {
            self.closed.push(draft.close(self.start, now, fate));
        }
    }

    /// How the draft under way has ended if its stream gives nothing more.
    pub(crate) fn ending(&self) -> Ending {
        self.writing().map_or(Ending::BROKEN, Writing::ending)
    }

    /// The text to use: the last call's if it is whole, else the longest that any call left.
    pub(crate) fn best(&self) -> Option<(usize, &Closed)> {
        let numbered = || self.closed.iter().enumerate();
        let last = numbered().next_back()?;
        if last.1.call.fate == Fate::Used {
            return Some(last);
        }
        numbered().max_by_key(|(_, closed)| closed.writing.text().len())
    }

    /// A closed draft by its number.
    pub(crate) fn get(&self, index: usize) -> Option<&Closed> {
        self.closed.get(index)
    }

    /// Says what became of a closed draft after all.
    pub(crate) fn judge(&mut self, index: usize, fate: Fate) {
        if let Some(closed) = self.closed.get_mut(index) {
            closed.call.fate = fate;
        }
    }

    /// Every call, in order, at what `cost` says it costs; no more can follow.
    pub(crate) fn take_calls(
        &mut self,
        cost: impl Fn(Model, Usage) -> Option<u64>,
    ) -> Vec<ModelCall> {
        let priced = |Closed { model, call, .. }| {
            let cost_micros = call.usage.and_then(|usage| cost(model, usage));
            ModelCall { cost_micros, ..call }
        };
        let calls: Vec<ModelCall> = self.closed.drain(..).map(priced).collect();
        calls.iter().for_each(|call| self.tally.note(call));
        calls
    }
}

impl Draft {
    fn close(self, start: Instant, now: Instant, fate: Fate) -> Closed {
        let since = |later: Instant, earlier: Instant| later.saturating_duration_since(earlier);
        let call = ModelCall {
            model: self.name,
            attempt: self.attempt,
            started: since(self.began, start),
            elapsed: since(now, self.began),
            first_token: self.first_token.map(|at| since(at, self.began)),
            fate,
            usage: self.writing.usage_or_estimate(),
            cost_micros: None,
        };
        Closed { model: self.model, writing: self.writing, call }
    }
}

impl Drop for Drafts {
    /// A request that is dropped midway has still cost what its calls cost.
    fn drop(&mut self) {
        self.close(Instant::now(), Fate::Abandoned);
        for closed in &self.closed {
            self.tally.note(&closed.call);
        }
    }
}

impl Ending {
    /// What it makes of the call, until the text has been looked at.
    pub(crate) fn fate(self) -> Fate {
        self.reason.map_or(Fate::Used, Fate::Lost)
    }
}
