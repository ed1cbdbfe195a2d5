//! [`Writer`]: the one task that writes the queue to disk.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until};

use crate::counts::Tallies;
use crate::{Entry, Store};

/// How rows are gathered.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Entries that may wait for the disk; beyond it they are dropped and counted.
    pub queue: usize,
    /// Entries of one transaction at most.
    pub batch: usize,
    /// How long an entry waits for company, and so what a killed process loses at most.
    pub linger: Duration,
    /// How long rows are kept on this disk, shipped or not.
    pub retention: Duration,
}

impl Settings {
    /// Bounds that keep a crash's loss under 100 ms and memory under some 20 MB.
    pub const STANDARD: Self = Self {
        queue: 8192,
        batch: 256,
        linger: Duration::from_millis(30),
        retention: Duration::from_secs(30 * 24 * 3600),
    };
}

/// How often rows that are past their retention are looked for.
const PRUNE_EVERY: Duration = Duration::from_secs(3600);

/// Pause after a failed write, doubling up to the longest: a full disk is not hammered.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

pub(crate) struct Writer {
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    pub(crate) tallies: Arc<Tallies>,
}

impl Writer {
    /// Writes batch after batch until told to stop, then what is left.
    pub(crate) async fn run(
        self,
        mut queue: mpsc::Receiver<Entry>,
        mut stopped: oneshot::Receiver<()>,
    ) {
        let mut batch = Vec::with_capacity(self.settings.batch);
        let mut prune_at = Instant::now();
        loop {
            tokio::select! {
                first = queue.recv() => match first {
                    Some(first) => batch.push(first),
                    None => return,
                },
                // Told to stop, or the ledger is gone: no more entries are taken, the queued ones remain.
                _ = &mut stopped => break,
            }
            self.gather(&mut queue, &mut batch).await;
            self.write_until_done(&batch).await;
            batch.clear();
            if prune_at <= Instant::now() {
                prune_at = Instant::now() + PRUNE_EVERY;
                self.prune().await;
            }
        }
        queue.close();
        while queue.recv_many(&mut batch, self.settings.batch).await > 0 {
            self.write_until_done(&batch).await;
            batch.clear();
        }
    }

    /// Fills `batch` until it is full, nobody is left to send, or the first entry has lingered enough.
    async fn gather(&self, queue: &mut mpsc::Receiver<Entry>, batch: &mut Vec<Entry>) {
        let until = Instant::now() + self.settings.linger;
        while batch.len() < self.settings.batch {
            tokio::select! {
                entry = queue.recv() => match entry {
                    Some(entry) => batch.push(entry),
                    None => return,
                },
                () = sleep_until(until) => return,
            }
        }
    }

    /// Removes what is past its retention; what cannot be removed now is tried again in an hour.
    async fn prune(&self) {
        let before = SystemTime::now().checked_sub(self.settings.retention);
        match self.store.prune(before.unwrap_or(SystemTime::UNIX_EPOCH)).await {
            // Whatever is left in an outbox has not been shipped.
            Ok(pruned) => {
                self.tallies.outbox.as_ref().inspect(|outbox| outbox.expired.add(pruned));
            }
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "old rows of the latency log cannot be removed"
            ),
        }
    }

    /// Tries until the disk takes the batch; meanwhile the queue fills and then drops.
    async fn write_until_done(&self, batch: &[Entry]) {
        let mut pause = FIRST_PAUSE;
        let mut failing = false;
        while let Err(error) = self.store.write(batch).await {
            if !failing {
                failing = true;
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the latency log cannot be written; trying on"
                );
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        if failing {
            let dropped = self.tallies.dropped.get();
            tracing::info!(dropped.count = dropped, "the latency log is written again");
        }
        let written = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        self.tallies.written.add(written);
    }
}
