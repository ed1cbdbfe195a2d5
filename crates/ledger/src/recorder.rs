//! [`Recorder`]: the request path's end of the queue.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::Entry;
use crate::counts::{Counts, Tallies};

/// An entry on its way to the disk.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) entry: Entry,
    /// When it was handed over.
    pub(crate) since: Instant,
}

/// Hands entries to the writer. Never waits, never fails a request. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Recorder {
    queue: mpsc::Sender<Queued>,
    tallies: Arc<Tallies>,
}

impl Recorder {
    pub(crate) fn new(queue: mpsc::Sender<Queued>, tallies: Arc<Tallies>) -> Self {
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
        let tally = match self.queue.try_send(Queued { entry, since: Instant::now() }) {
            Ok(()) => &self.tallies.queued,
            Err(_no_room) => &self.tallies.dropped,
        };
        tally.add(1);
    }

    /// What became of the entries so far, this recorder's clones included.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.tallies.counts()
    }

    /// Why the last try to ship to Postgres failed, if none has succeeded since. No secrets, and nothing of a row.
    #[must_use]
    pub fn outbox_error(&self) -> Option<String> {
        self.tallies.outbox.as_ref()?.last_error()
    }
}
