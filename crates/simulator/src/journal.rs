//! The journal: what became of every call, and when its client went away.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::faults::FaultKind;

/// What a call was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    Generate,
    Embed,
    CountTokens,
    Models,
    Other,
}

/// One call. Times are milliseconds since the simulator started.
///
/// A call that is over has either `ended_ms` or `client_gone_ms`, never both; one under way has neither.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Counts calls from 0; never used twice.
    pub seq: u64,
    pub kind: CallKind,
    pub path: String,
    pub model: String,
    /// `#17` for a marked text, else the `x-request-id`, else `~` and a count.
    pub key: String,
    pub attempt: u32,
    /// The head of the request had been read.
    pub started_ms: f64,
    /// The first byte of the reply's body was handed to the connection.
    pub first_byte_ms: Option<f64>,
    /// Bytes of the body handed to the connection so far.
    pub bytes: u64,
    /// The reply was whole, or the simulator itself broke it off.
    pub ended_ms: Option<f64>,
    /// The client closed its connection or stream before the reply was whole.
    pub client_gone_ms: Option<f64>,
    pub fault: Option<FaultKind>,
    /// Absent until there is one, and for connections closed or left hanging without a word.
    pub status: Option<u16>,
    /// Where it asked for its output to be cut, thoughts included.
    pub output_cap: Option<u32>,
    /// What would be billed: the prompt of a call that was not refused, …
    pub prompt_tokens: u32,
    /// … and what had been written, thoughts included, when the call ended or the client left. Of a reply
    /// that is sent in one piece, what had been decoded by then.
    pub output_tokens: u32,
}

/// Counts over all calls since the start or the last clearing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub calls: u64,
    pub generate_calls: u64,
    pub embed_calls: u64,
    /// Calls under way now.
    pub open: u64,
    /// The most there ever were at once.
    pub most_open: u64,
    pub client_gone: u64,
    pub faults: u64,
    /// Replies with a status of 400 or more.
    pub error_replies: u64,
    pub prompt_tokens: u64,
    pub output_tokens: u64,
    /// Output tokens of calls whose clients went away.
    pub wasted_tokens: u64,
    /// Calls that the journal had no room for.
    pub unrecorded: u64,
    /// When the simulator started, in milliseconds since 1970, to place the journal's times.
    pub started_unix_ms: u64,
    /// Now, on the journal's own clock.
    pub now_ms: f64,
}

/// All calls, up to a capacity.
#[derive(Debug)]
pub(crate) struct Journal {
    start: Instant,
    started_unix_ms: u64,
    capacity: usize,
    records: Mutex<Records>,
}

#[derive(Debug, Default)]
struct Records {
    /// Of consecutive `seq` from `first` on.
    entries: Vec<Entry>,
    first: u64,
    next: u64,
    counts: Summary,
}

impl Journal {
    pub(crate) fn new(capacity: usize) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            start: Instant::now(),
            started_unix_ms: u64::try_from(unix.as_millis()).unwrap_or(u64::MAX),
            capacity,
            records: Mutex::default(),
        }
    }

    /// Notes a call that began at `start`.
    pub(crate) fn begin(self: &Arc<Self>, kind: CallKind, path: &str, start: Instant) -> Call {
        let mut entry = Entry {
            seq: 0,
            kind,
            path: path.to_owned(),
            model: String::new(),
            key: String::new(),
            attempt: 1,
            started_ms: self.ms(start),
            first_byte_ms: None,
            bytes: 0,
            ended_ms: None,
            client_gone_ms: None,
            fault: None,
            status: None,
            output_cap: None,
            prompt_tokens: 0,
            output_tokens: 0,
        };
        self.records().add(&mut entry, self.capacity);
        Call { journal: Arc::clone(self), start, entry, decoding: None, over: false }
    }

    /// The calls from `since` on, in order of their beginning; those under way as they were when they began
    /// or sent their first byte.
    pub(crate) fn entries(&self, since: u64) -> Vec<Entry> {
        let records = self.records();
        let skipped = usize::try_from(since.saturating_sub(records.first)).unwrap_or(usize::MAX);
        records.entries.iter().skip(skipped).cloned().collect()
    }

    pub(crate) fn summary(&self) -> Summary {
        let counts = self.records().counts.clone();
        let (started_unix_ms, now_ms) = (self.started_unix_ms, self.ms(Instant::now()));
        Summary { started_unix_ms, now_ms, ..counts }
    }

    /// Forgets all calls but that some are still under way.
    pub(crate) fn clear(&self) {
        let mut records = self.records();
        let open = records.counts.open;
        records.entries.clear();
        records.first = records.next;
        records.counts = Summary { open, most_open: open, ..Summary::default() };
    }

    fn ms(&self, moment: Instant) -> f64 {
        let micros = moment.saturating_duration_since(self.start).as_micros();
        micros as f64 / 1000.0
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().expect("nothing panics while it holds the journal")
    }
}

impl Records {
    fn add(&mut self, entry: &mut Entry, capacity: usize) {
        entry.seq = self.next;
        self.next += 1;
        let counts = &mut self.counts;
        counts.calls += 1;
        counts.generate_calls += u64::from(entry.kind == CallKind::Generate);
        counts.embed_calls += u64::from(entry.kind == CallKind::Embed);
        counts.open += 1;
        counts.most_open = counts.most_open.max(counts.open);
        if self.entries.len() < capacity {
            self.entries.push(entry.clone());
        } else {
            counts.unrecorded += 1;
        }
    }

    fn update(&mut self, entry: &Entry) {
        let index = entry.seq.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        if let Some(kept) = index.and_then(|index| self.entries.get_mut(index)) {
            kept.clone_from(entry);
        }
    }

    fn close(&mut self, entry: &Entry) {
        self.update(entry);
        let counts = &mut self.counts;
        counts.open = counts.open.saturating_sub(1);
        if entry.seq < self.first {
            return;
        }
        counts.faults += u64::from(entry.fault.is_some());
        counts.error_replies += u64::from(entry.status.is_some_and(|status| status >= 400));
        counts.prompt_tokens += u64::from(entry.prompt_tokens);
        counts.output_tokens += u64::from(entry.output_tokens);
        if entry.client_gone_ms.is_some() {
            counts.client_gone += 1;
            counts.wasted_tokens += u64::from(entry.output_tokens);
        }
    }
}

/// A call under way. If it is dropped before it is over, its client has gone.
#[derive(Debug)]
pub(crate) struct Call {
    journal: Arc<Journal>,
    start: Instant,
    entry: Entry,
    decoding: Option<Decoding>,
    over: bool,
}

/// How a reply that is sent in one piece comes about; times since the call began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoding {
    pub(crate) first: Duration,
    pub(crate) end: Duration,
    pub(crate) tokens: u32,
}

impl Call {
    pub(crate) fn entry_mut(&mut self) -> &mut Entry {
        &mut self.entry
    }

    pub(crate) fn decodes(&mut self, decoding: Option<Decoding>) {
        self.decoding = decoding;
    }

    /// Notes that `bytes` more were sent, with which `tokens` in all have been written.
    pub(crate) fn sent(&mut self, bytes: usize, tokens: u32) {
        self.entry.bytes += bytes as u64;
        self.entry.output_tokens = self.entry.output_tokens.max(tokens);
        if self.entry.first_byte_ms.is_none() {
            self.entry.first_byte_ms = Some(self.journal.ms(Instant::now()));
            self.journal.records().update(&self.entry);
        }
    }

    /// Notes that the reply was whole, or that it ends here because it is meant to.
    pub(crate) fn end(&mut self) {
        if !self.over {
            self.entry.ended_ms = Some(self.journal.ms(Instant::now()));
            self.close();
        }
    }

    fn close(&mut self) {
        self.over = true;
        self.journal.records().close(&self.entry);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let now = Instant::now();
        self.entry.client_gone_ms = Some(self.journal.ms(now));
        if let Some(decoding) = self.decoding {
            let decoded = decoding.by(now.saturating_duration_since(self.start));
            self.entry.output_tokens = self.entry.output_tokens.max(decoded);
        }
        self.close();
    }
}

impl Decoding {
    /// The tokens decoded `elapsed` after the call's beginning.
    fn by(self, elapsed: Duration) -> u32 {
        if elapsed >= self.end {
            return self.tokens;
        }
        let span = self.end.saturating_sub(self.first).as_secs_f64();
        let share = elapsed.saturating_sub(self.first).as_secs_f64() / span;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a count of 32 bits, at most the whole"
        )]
        let decoded = (share * f64::from(self.tokens)) as u32;
        decoded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(journal: &Arc<Journal>) -> Call {
        journal.begin(CallKind::Generate, "/v1/x", Instant::now())
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_dropped_early_was_left_by_its_client() {
        let journal = Arc::new(Journal::new(10));
        let mut whole = call(&journal);
        let mut left = call(&journal);
        left.sent(100, 7);
        assert_eq!(journal.summary().open, 2);
        tokio::time::advance(Duration::from_millis(250)).await;
        drop(left);
        whole.sent(10, 3);
        whole.end();
        drop(whole);
        let [whole, left] = journal.entries(0).try_into().unwrap();
        assert_eq!((whole.ended_ms, whole.client_gone_ms), (Some(250.0), None));
        assert_eq!((left.ended_ms, left.client_gone_ms), (None, Some(250.0)));
        assert_eq!((left.first_byte_ms, left.bytes, left.output_tokens), (Some(0.0), 100, 7));
        let summary = journal.summary();
        assert_eq!((summary.open, summary.most_open, summary.client_gone), (0, 2, 1));
        assert_eq!((summary.output_tokens, summary.wasted_tokens), (10, 7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_in_one_piece_is_billed_by_what_was_decoded() {
        let journal = Arc::new(Journal::new(10));
        let ms = Duration::from_millis;
        for wait in [0, 100, 300, 500] {
            let mut left = call(&journal);
            left.decodes(Some(Decoding { first: ms(100), end: ms(500), tokens: 80 }));
            tokio::time::advance(ms(wait)).await;
        }
        let tokens: Vec<u32> = journal.entries(0).iter().map(|entry| entry.output_tokens).collect();
        assert_eq!(tokens, [0, 0, 40, 80]);
    }

    #[tokio::test]
    async fn a_full_journal_counts_and_a_cleared_one_goes_on() {
        let journal = Arc::new(Journal::new(2));
        let open = call(&journal);
        call(&journal).end();
        call(&journal).end();
        assert_eq!((journal.entries(0).len(), journal.summary().unrecorded), (2, 1));
        journal.clear();
        assert_eq!((journal.entries(0).len(), journal.summary().open), (0, 1));
        drop(open);
        call(&journal).end();
        let entries = journal.entries(0);
        assert_eq!((entries.len(), entries[0].seq), (1, 3));
        assert_eq!(journal.entries(4), []);
        assert_eq!((journal.summary().calls, journal.summary().open), (1, 0));
    }
}
