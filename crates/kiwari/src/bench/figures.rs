//! [`Figures`]: what a run came to. Every name says its unit; shares are of 1, times in milliseconds.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// What a run came to.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figures {
    /// Requests handed to a connection.
    pub(crate) sent: u64,
    /// Requests answered with status 200 and a body that can be read.
    pub(crate) answered: u64,
    /// All the others.
    pub(crate) failed: u64,
    pub(crate) wall_s: f64,
    /// Between the first sending and the last.
    pub(crate) achieved_rate_per_s: Option<f64>,
    /// How much later than planned requests left: what this program itself adds.
    pub(crate) send_lag_ms: Times,
    /// From the planned moment to the last byte of each answer.
    pub(crate) latency_ms: Times,
    /// The same from the sending.
    pub(crate) latency_from_send_ms: Times,
    /// From the planned moment to the first sentence read, of streams.
    pub(crate) first_content_ms: Option<Times>,
    pub(crate) late: Late,
    /// By kind of answer.
    pub(crate) kinds: BTreeMap<String, Share>,
    /// Answers a model wrote, whole or cut at a sentence.
    pub(crate) written_by_model: Share,
    /// Answers whose request's vector search delivered.
    pub(crate) with_vectors: Share,
    pub(crate) degraded: Share,
    /// By stage, then by reason.
    pub(crate) reasons: BTreeMap<String, BTreeMap<String, Share>>,
    /// Responses by HTTP status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// By kind of failure.
    pub(crate) errors: BTreeMap<String, Errors>,
}

/// The spread of a time, each the least that so many of all do not exceed; `None` of nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Times {
    pub(crate) count: u64,
    pub(crate) p50: Option<f64>,
    pub(crate) p95: Option<f64>,
    pub(crate) p99: Option<f64>,
    #[serde(rename = "p99.9")]
    pub(crate) p999: Option<f64>,
    pub(crate) max: Option<f64>,
}

/// Answers that were complete later than their budget and [`TOLERANCE`](super::tally::TOLERANCE) allow.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Late {
    pub(crate) tolerance_ms: f64,
    /// Counted from the sending: what the server answers for.
    pub(crate) from_send: Overshoot,
    /// Counted from the planned moment: what a user would have seen.
    pub(crate) from_plan: Overshoot,
}

/// How often, and how far past the budget alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Overshoot {
    pub(crate) count: u64,
    pub(crate) max_ms: f64,
}

/// So many of all answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Share {
    pub(crate) count: u64,
    pub(crate) share: f64,
    /// The true share is at least this, with 99 % confidence.
    pub(crate) share_at_least: f64,
}

/// Failures of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Errors {
    pub(crate) count: u64,
    /// The first one's causes.
    pub(crate) example: String,
}

impl Figures {
    /// Whether every request was answered, and in time.
    pub(crate) fn are_good(&self) -> bool {
        self.failed == 0 && self.late.from_send.count == 0
    }
}

impl Times {
    /// Of a histogram of microseconds.
    pub(crate) fn of(micros: &Histogram<u64>) -> Self {
        if micros.is_empty() {
            return Self::default();
        }
        let at = |quantile| Some(ms(micros.value_at_quantile(quantile)));
        Self {
            count: micros.len(),
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: Some(ms(micros.max())),
        }
    }
}

/// The 99th percentile of the standard normal distribution.
const Z: f64 = 2.326_347_874_040_841;

impl Share {
    /// `count` of `all`; the bound is Wilson's, one-sided.
    pub(crate) fn of(count: u64, all: u64) -> Self {
        if all == 0 {
            return Self { count, share: 0.0, share_at_least: 0.0 };
        }
        let n = as_f64(all);
        let share = as_f64(count) / n;
        let spread = (share * (1.0 - share) / n + (Z / (2.0 * n)).powi(2)).sqrt();
        let bound = (share + Z * Z / (2.0 * n) - Z * spread) / (1.0 + Z * Z / n);
        Self { count, share, share_at_least: bound.max(0.0) }
    }
}

/// Milliseconds with what is below them.
fn ms(micros: u64) -> f64 {
    as_f64(micros) / 1000.0
}

/// Milliseconds with what is below them.
pub(super) fn in_ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "counts and times below 2^53")]
pub(super) fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilsons_bound_is_as_computed_elsewhere() {
        // Where (share − p)² = Z²·p·(1 − p)/n, found by bisection.
        for (count, all, bound) in
            [(9_700, 10_000, 0.9658), (10, 10, 0.6488), (0, 10, 0.0), (1, 2, 0.0728), (0, 0, 0.0)]
        {
            let share = Share::of(count, all);
            assert!((share.share_at_least - bound).abs() < 5e-5, "{count}/{all}: {share:?}");
            assert!(share.share_at_least <= share.share);
        }
    }

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let mut micros = Histogram::new(3).unwrap();
        (1..=1000).for_each(|ms| micros.record(ms * 1000).unwrap());
        let times = Times::of(&micros);
        for (found, expected) in [(times.p50, 500.0), (times.p95, 950.0), (times.p999, 999.0)] {
            // Three significant digits are kept.
            assert!((found.unwrap() / expected - 1.0).abs() < 0.001, "{times:?}");
        }
        assert_eq!(Times::of(&Histogram::new(3).unwrap()), Times::default());
    }
}
