//! [`Survival`]: how long calls take, where some were cut before they ended.

use std::time::Duration;

use serde::Serialize;

/// One call: how long it took, or how long it had taken when it was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample {
    pub took: Duration,
    /// It would have taken longer.
    pub is_cut: bool,
}

/// A percentile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Milliseconds.
    pub ms: f64,
    /// It is at least that: too many calls were cut to say more.
    pub is_lower_bound: bool,
}

/// The product-limit estimate of Kaplan and Meier ("Nonparametric Estimation from Incomplete Observations",
/// 1958): a cut call counts among those that might have ended for as long as it ran, and then no more.
#[derive(Clone, Debug, PartialEq)]
pub struct Survival {
    samples: usize,
    cut: usize,
    /// When calls ended, earliest first.
    steps: Vec<Step>,
    /// The longest that any call ran.
    longest: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    at: Duration,
    /// The share of calls that take longer.
    left: f64,
}

/// Beyond this nobody waits.
const FOREVER: Duration = Duration::from_secs(3600);

/// What rounding may do to a product of shares.
const ROUNDING: f64 = 1e-9;

impl Survival {
    /// `None` without samples.
    #[must_use]
    pub fn of(samples: impl IntoIterator<Item = Sample>) -> Option<Self> {
        let mut samples: Vec<Sample> = samples.into_iter().collect();
        // A call that ended when another was cut ended before it.
        samples.sort_unstable();
        let longest = samples.last()?.took;
        let mut steps: Vec<Step> = Vec::new();
        let mut left = 1.0;
        for (at, sample) in samples.iter().enumerate().filter(|(_, sample)| !sample.is_cut) {
            left *= 1.0 - 1.0 / count(samples.len() - at);
            match steps.last_mut() {
                Some(last) if last.at == sample.took => last.left = left,
                _ => steps.push(Step { at: sample.took, left }),
            }
        }
        let cut = samples.iter().filter(|sample| sample.is_cut).count();
        Some(Self { samples: samples.len(), cut, steps, longest })
    }

    /// How many samples there were.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// The share of them that was cut.
    #[must_use]
    pub fn cut_share(&self) -> f64 {
        count(self.cut) / count(self.samples)
    }

    /// The least time within which a share `q` (0…1) of calls ends; with nothing cut, that is the nearest rank.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Estimate {
        let reached = self.steps.iter().find(|step| step.left <= 1.0 - q + ROUNDING);
        let at = reached.map_or(self.longest, |step| step.at);
        Estimate { ms: at.as_secs_f64() * 1000.0, is_lower_bound: reached.is_none() }
    }

    /// A time drawn from the estimate; `unit` is uniform over 0…1.
    #[must_use]
    pub fn draw(&self, unit: f64) -> Duration {
        self.at(unit.clamp(0.0, 1.0))
    }

    /// How long a call takes that was cut at `cut`, drawn from what takes longer than that.
    #[must_use]
    pub fn draw_above(&self, cut: Duration, unit: f64) -> Duration {
        let after = self.steps.partition_point(|step| step.at <= cut);
        let left = after.checked_sub(1).map_or(1.0, |at| self.steps[at].left);
        if left <= ROUNDING {
            // Longer than anything seen.
            return cut.saturating_add(self.longest.mul_f64(unit.clamp(0.0, 1.0)));
        }
        self.at(left * unit.clamp(0.0, 1.0)).max(cut)
    }

    /// The time that a share `share` of calls takes longer than. Beyond the last call that ended, the tail is the
    /// exponential through that point (Brown, Hollander and Korwar, 1974).
    fn at(&self, share: f64) -> Duration {
        let last = self.steps.last().map_or(1.0, |step| step.left);
        if last <= ROUNDING || share >= last {
            let step = self.steps.partition_point(|step| step.left > share + ROUNDING);
            let step = self.steps.get(step).or(self.steps.last());
            return step.map_or(self.longest, |step| step.at);
        }
        // With nothing ended at all, half a call may have.
        let last = last.min(1.0 - 0.5 / count(self.samples));
        let beyond = self.longest.as_secs_f64() * share.ln() / last.ln();
        Duration::try_from_secs_f64(beyond).unwrap_or(FOREVER).clamp(self.longest, FOREVER)
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer samples than a float counts")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn sample(millis: u64, is_cut: bool) -> Sample {
        Sample { took: ms(millis), is_cut }
    }

    /// By hand: 6 calls; one ends at 1 (5/6), one is cut at 2, one ends at 3 (5/6 · 3/4), one is cut at 4, one
    /// ends at 5 (5/6 · 3/4 · 1/2), one is cut at 6.
    #[test]
    fn a_textbook_example() {
        let times = (1..=6).map(|at| sample(at, at % 2 == 0));
        let survival = Survival::of(times).unwrap();
        let left: Vec<f64> = survival.steps.iter().map(|step| step.left).collect();
        for (found, expected) in left.iter().zip([5.0 / 6.0, 0.625, 0.3125]) {
            assert!((found - expected).abs() < 1e-12, "{left:?}");
        }
        assert_eq!(survival.quantile(0.5), Estimate { ms: 5.0, is_lower_bound: false });
        assert_eq!(survival.quantile(0.95), Estimate { ms: 6.0, is_lower_bound: true });
        assert!((survival.cut_share() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn with_nothing_cut_it_is_the_nearest_rank() {
        for n in [1_u64, 2, 19, 20, 21, 100, 1000] {
            let survival = Survival::of((1..=n).map(|at| sample(at, false))).unwrap();
            for percent in [50, 95, 99] {
                let rank = (n * percent).div_ceil(100);
                let found = survival.quantile(percent as f64 / 100.0);
                assert_eq!(found, Estimate { ms: rank as f64, is_lower_bound: false }, "{n}");
            }
        }
    }

    /// Lognormal with p50 0.8 s and p95 3.2 s, cut at moments that know nothing of it: the naive percentile of
    /// what ended is far too low, and that of what was seen too.
    #[test]
    fn cut_calls_do_not_make_the_tail_look_short() {
        let mut rng = Rng::with_seed(7);
        let mut normal = || {
            let (u, v) = (rng.f64().max(1e-12), rng.f64());
            ((-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos(), rng.f64())
        };
        let samples: Vec<Sample> = (0..40_000)
            .map(|_| {
                let (z, patience) = normal();
                let took = Duration::from_secs_f64(0.8 * (z * 4.0_f64.ln() / 1.644_853_6).exp());
                let cut = Duration::from_secs_f64(0.5 + 6.0 * patience);
                Sample { took: took.min(cut), is_cut: cut < took }
            })
            .collect();
        let survival = Survival::of(samples.iter().copied()).unwrap();
        assert!(survival.cut_share() > 0.1);
        for (q, expected) in [(0.5, 800.0), (0.95, 3200.0)] {
            let found = survival.quantile(q);
            assert!((found.ms / expected - 1.0).abs() < 0.04, "{q}: {found:?}");
            assert!(!found.is_lower_bound);
        }
        let ended = samples.iter().filter(|sample| !sample.is_cut);
        let naive = Survival::of(ended.copied()).unwrap().quantile(0.95);
        assert!(naive.ms < 2800.0, "{naive:?}");
    }

    #[test]
    fn what_is_drawn_above_a_cut_is_longer_and_follows_the_tail() {
        let survival = Survival::of((1..=1000).map(|at| sample(at, false))).unwrap();
        let mut rng = Rng::with_seed(1);
        let drawn: Vec<Duration> =
            (0..10_000).map(|_| survival.draw_above(ms(900), rng.f64())).collect();
        assert!(drawn.iter().all(|at| (ms(901)..=ms(1000)).contains(at)));
        let mean = drawn.iter().sum::<Duration>() / 10_000;
        assert!((ms(948)..ms(953)).contains(&mean), "{mean:?}");
    }

    /// Exponential with mean one second, everything cut at one second: what comes after is found again.
    #[test]
    fn beyond_what_was_seen_the_tail_goes_on_exponentially() {
        let mut rng = Rng::with_seed(3);
        let samples = (0..20_000).map(|_| {
            let took = Duration::from_secs_f64(-(1.0 - rng.f64()).ln());
            let cut = Duration::from_secs(1);
            Sample { took: took.min(cut), is_cut: cut < took }
        });
        let survival = Survival::of(samples.collect::<Vec<_>>()).unwrap();
        let mut rng = Rng::with_seed(4);
        let beyond = (0..20_000).map(|_| survival.draw_above(ms(1000), rng.f64()).as_secs_f64());
        let mean = beyond.sum::<f64>() / 20_000.0;
        assert!((mean - 2.0).abs() < 0.05, "{mean}");
        let nothing_ended = Survival::of([sample(100, true), sample(200, true)]).unwrap();
        assert!(nothing_ended.draw(0.5) >= ms(200));
        assert!(Survival::of([]).is_none());
    }
}
