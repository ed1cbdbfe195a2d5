//! [`Recorder`]: the request path's end of the queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use crate::Entry;

/// Hands entries to the writer. Never waits, never fails a request. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Recorder {
    queue: mpsc::Sender<Entry>,
    tallies: Arc<Tallies>,
}

/// What became of the entries so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Handed over and accepted by the queue.
    pub queued: u64,
    /// On disk.
    pub written: u64,
    /// Given up: the queue was full, or the writer had ended.
    pub dropped: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Tallies {
    pub(crate) queued: AtomicU64,
    pub(crate) written: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

impl Recorder {
    pub(crate) fn new(queue: mpsc::Sender<Entry>, tallies: Arc<Tallies>) -> Self {
        Self { queue, tallies }
    }

    /// A recorder without a log behind it: everything is dropped and counted.
    #[must_use]
    pub fn without_log() -> Self {
        let (queue, _nobody_reads) = mpsc::channel(1);
        Self::new(queue, Arc::default())
    }

    /// Queues `entry`, or drops and counts it when there is no room.
    pub fn record(&self, entry: Entry) {
        let tally = match self.queue.try_send(entry) {
            Ok(()) => &self.tallies.queued,
            Err(_no_room) => &self.tallies.dropped,
        };
        tally.fetch_add(1, Ordering::Relaxed);
    }

    /// What became of the entries so far, this recorder's clones included.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            queued: self.tallies.queued.load(Ordering::Relaxed),
            written: self.tallies.written.load(Ordering::Relaxed),
            dropped: self.tallies.dropped.load(Ordering::Relaxed),
        }
    }
}
