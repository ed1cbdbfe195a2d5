//! [`Histogram`]: how many took how long.

use std::time::Duration;

/// Counts of durations between bounds, as Prometheus has them.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    /// In seconds, growing.
    bounds: &'static [f64],
    /// One per bound, and one for what is beyond all of them.
    counts: Vec<u64>,
    sum: Duration,
}

impl Histogram {
    pub(super) fn over(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: Duration::ZERO }
    }

    pub(super) fn observe(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        let at = self.bounds.partition_point(|bound| *bound < seconds);
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(took);
    }

    /// Each bound, and how many lie between it and the one before.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        self.bounds.iter().copied().zip(self.counts.iter().copied())
    }

    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// In seconds.
    pub(super) fn sum(&self) -> f64 {
        self.sum.as_secs_f64()
    }
}
