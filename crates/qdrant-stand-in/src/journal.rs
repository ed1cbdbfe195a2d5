//! [`Journal`]: which calls came in, and what became of them.

use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

/// One call that came in with the right key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The method, as the protocol names it.
    pub method: &'static str,
    /// The server's limit that it asked for, in seconds.
    pub timeout: Option<u64>,
    /// Whether it asked to be answered only when the change can be seen; `None` where that is no question.
    pub wait: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    stalled: u64,
    abandoned: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Journal {
    calls: Mutex<Vec<Call>>,
    counts: watch::Sender<Counts>,
}

/// A call under way; one that is dropped before it has [`ended`](Self::ended) was abandoned by its caller.
#[derive(Debug)]
pub(crate) struct Underway<'a> {
    journal: &'a Journal,
    ended: bool,
}

impl Journal {
    pub(crate) fn begin(&self, call: Call) -> Underway<'_> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        Underway { journal: self, ended: false }
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn clear(&self) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.counts.send_replace(Counts::default());
    }

    /// Waits for a call that gets no answer.
    pub(crate) async fn until_stalled(&self) {
        self.until(|counts| counts.stalled > 0).await;
    }

    /// Waits for a call that its caller has given up.
    pub(crate) async fn until_abandoned(&self) {
        self.until(|counts| counts.abandoned > 0).await;
    }

    async fn until(&self, reached: impl FnMut(&Counts) -> bool) {
        let mut counts = self.counts.subscribe();
        // Fails only without a sender, which is held here.
        let _reached = counts.wait_for(reached).await;
    }
}

impl Underway<'_> {
    pub(crate) fn stalled(&self) {
        self.journal.counts.send_modify(|counts| counts.stalled += 1);
    }

    pub(crate) fn ended(mut self) {
        self.ended = true;
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.journal.counts.send_modify(|counts| counts.abandoned += 1);
        }
    }
}
