//! [`Counts`]: what became of the entries, for `/metrics` and `/health`.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::entry::unix_micros;

/// What became of the requests handed over so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Handed over and accepted by the queue.
    pub queued: u64,
    /// On disk.
    pub written: u64,
    /// Given up: the queue was full, or the writer had ended.
    pub dropped: u64,
    /// Tries to write that failed since one succeeded; 0 is health.
    pub failures: u64,
    /// What waits for Postgres, where there is one.
    pub outbox: Option<OutboxCounts>,
}

/// The way from the disk to Postgres.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboxCounts {
    /// Requests that arrived in Postgres.
    pub shipped: u64,
    /// Requests that were let go: Postgres does not keep their day any more, or they waited longer than rows
    /// are kept.
    pub expired: u64,
    /// Requests that Postgres would not take whatever was tried.
    pub refused: u64,
    /// Requests that were let go because the disk may not hold more of them.
    pub overflowed: u64,
    /// Requests on disk that have not arrived.
    pub depth: u64,
    /// The age of the oldest of them.
    pub lag: Duration,
    /// Tries that failed since one succeeded; 0 is health.
    pub failures: u64,
}

/// A number that only grows, or is set.
#[derive(Debug, Default)]
pub(crate) struct Tally(AtomicU64);

impl Tally {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Tallies {
    pub(crate) queued: Tally,
    pub(crate) written: Tally,
    pub(crate) dropped: Tally,
    pub(crate) failures: Tally,
    /// Where there is a Postgres.
    pub(crate) outbox: Option<OutboxTallies>,
}

#[derive(Debug, Default)]
pub(crate) struct OutboxTallies {
    /// What lay on disk at the start.
    pub(crate) found: Tally,
    pub(crate) shipped: Tally,
    pub(crate) expired: Tally,
    pub(crate) refused: Tally,
    pub(crate) overflowed: Tally,
    pub(crate) failures: Tally,
    /// Why the last try failed.
    error: Mutex<Option<String>>,
    /// When the oldest request that has not arrived was received, in microseconds since the Unix epoch;
    /// 0: there is none.
    oldest_us: AtomicI64,
}

impl Tallies {
    pub(crate) fn counts(&self) -> Counts {
        let written = self.written.get();
        Counts {
            queued: self.queued.get(),
            written,
            dropped: self.dropped.get(),
            failures: self.failures.get(),
            outbox: self.outbox.as_ref().map(|outbox| outbox.counts(written)),
        }
    }
}

impl OutboxTallies {
    pub(crate) fn note_oldest(&self, received_at_us: Option<i64>) {
        self.oldest_us.store(received_at_us.unwrap_or(0), Ordering::Relaxed);
    }

    pub(crate) fn failed(&self, words: String) {
        self.failures.add(1);
        *self.error() = Some(words);
    }

    pub(crate) fn recovered(&self) {
        self.failures.set(0);
        *self.error() = None;
    }

    /// Why the last try failed, if none has succeeded since.
    pub(crate) fn last_error(&self) -> Option<String> {
        self.error().clone()
    }

    fn error(&self) -> MutexGuard<'_, Option<String>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts(&self, written: u64) -> OutboxCounts {
        let (shipped, expired) = (self.shipped.get(), self.expired.get());
        let (refused, overflowed) = (self.refused.get(), self.overflowed.get());
        let gone = shipped + expired + refused + overflowed;
        OutboxCounts {
            shipped,
            expired,
            refused,
            overflowed,
            depth: (self.found.get() + written).saturating_sub(gone),
            lag: self.lag(),
            failures: self.failures.get(),
        }
    }

    fn lag(&self) -> Duration {
        match self.oldest_us.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            oldest => {
                let age = unix_micros(SystemTime::now()).saturating_sub(oldest);
                Duration::from_micros(u64::try_from(age).unwrap_or(0))
            }
        }
    }
}
