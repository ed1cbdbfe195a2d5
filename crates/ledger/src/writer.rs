//! [`Writer`]: writes the queue to disk.

use std::sync::Arc;
use std::time::Duration;

use domain::Causes;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, sleep_until};

use crate::Entry;
use crate::counts::Tallies;
use crate::recorder::Queued;
use crate::store::Pen;

/// How rows are gathered and kept on this disk.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Entries that may wait for the disk; beyond it they are dropped and counted.
    pub queue: usize,
    /// Entries of one transaction at most.
    pub batch: usize,
    /// How long an entry waits for company. What a killed process loses is what waits, and what is being written.
    pub linger: Duration,
    /// How long rows are kept on this disk, shipped or not.
    pub retention: Duration,
    /// What rows that wait for Postgres may take of this disk, in bytes; beyond it the oldest are let go and counted.
    /// `None`: what the disk takes.
    pub most_waiting: Option<u64>,
}

impl Settings {
    /// Bounds that keep a crash's loss well under 100 ms and memory under some 20 MB.
    pub const STANDARD: Self = Self {
        queue: 8192,
        batch: 256,
        linger: Duration::from_millis(10),
        retention: Duration::from_secs(30 * 24 * 3600),
        most_waiting: None,
    };
}

/// Pause after a failed write, doubling up to the longest: a full disk is not hammered.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

pub(crate) struct Writer {
    pub(crate) pen: Pen,
    pub(crate) settings: Settings,
    pub(crate) tallies: Arc<Tallies>,
}

impl Writer {
    /// Writes batch after batch until told to stop, then what is left.
    pub(crate) async fn run(
        mut self,
        mut queue: mpsc::Receiver<Queued>,
        mut stopped: oneshot::Receiver<()>,
    ) {
        let mut batch = Vec::with_capacity(self.settings.batch);
        loop {
            tokio::select! {
                first = queue.recv() => match first {
                    Some(first) => self.gather(&mut queue, first, &mut batch).await,
                    None => break,
                },
                // Told to stop, or the ledger is gone: no more entries are taken, the queued ones remain.
                _ = &mut stopped => break,
            }
            self.write_until_done(&mut batch).await;
        }
        queue.close();
        while let Some(first) = queue.recv().await {
            self.gather(&mut queue, first, &mut batch).await;
            self.write_until_done(&mut batch).await;
        }
        self.pen.close().await;
    }

    /// Fills `batch` until it is full, nobody is left to send, or `first` has lingered enough; the time for which it
    /// waited behind another batch counts. What is there already comes along in any case.
    async fn gather(
        &self,
        queue: &mut mpsc::Receiver<Queued>,
        first: Queued,
        batch: &mut Vec<Entry>,
    ) {
        let until = first.since + self.settings.linger;
        batch.push(first.entry);
        while batch.len() < self.settings.batch {
            tokio::select! {
                biased;
                queued = queue.recv() => match queued {
                    Some(queued) => batch.push(queued.entry),
                    None => return,
                },
                () = sleep_until(until) => return,
            }
        }
    }

    /// Tries until the disk takes the batch, and empties it; meanwhile the queue fills and then drops.
    async fn write_until_done(&mut self, batch: &mut Vec<Entry>) {
        let mut pause = FIRST_PAUSE;
        while let Err(error) = self.pen.write(batch).await {
            if self.tallies.failures.get() == 0 {
                tracing::warn!(
                    error = %Causes(&error),
                    "the latency log cannot be written; trying on"
                );
            }
            self.tallies.failures.add(1);
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        if self.tallies.failures.get() > 0 {
            self.tallies.failures.set(0);
            let dropped = self.tallies.dropped.get();
            tracing::info!(dropped.count = dropped, "the latency log is written again");
        }
        self.tallies.written.add(u64::try_from(batch.len()).unwrap_or(u64::MAX));
        batch.clear();
    }
}
