//! Minimums near the 95th percentile that fit the budget.

use std::time::Duration;

use serde::Serialize;

use super::{Estimate, Survival};

/// With a greater share cut than this, a stage's percentiles are too uncertain to take time from it.
const MOST_CUT: f64 = 0.05;

/// What is known of one stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// How often it ran.
    pub n: usize,
    /// The share of these that was cut.
    pub cut: f64,
    pub p50: Estimate,
    pub p95: Estimate,
    pub p99: Estimate,
}

/// One stage's minimum as it is, and what could move it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    pub today: Duration,
    /// `None`: it stays.
    pub evidence: Option<Evidence>,
}

/// The least that a stage's minimum may be and what it should be.
#[derive(Clone, Copy, Debug)]
struct Range {
    least: Duration,
    wanted: Duration,
}

impl Evidence {
    #[must_use]
    pub fn of(survival: &Survival) -> Self {
        Self {
            n: survival.samples(),
            cut: survival.cut_share(),
            p50: survival.quantile(0.5),
            p95: survival.quantile(0.95),
            p99: survival.quantile(0.99),
        }
    }

    /// Whether so few calls were cut that the minimum may be lowered.
    #[must_use]
    pub fn may_lower(&self) -> bool {
        self.cut <= MOST_CUT
    }
}

/// The stages' minimums within `room`, which is the budget without the reserve and holds today's. Each is wanted
/// at `share` (0…1] of its p95, all p95s first scaled to fit the room together, and at its median at least; a
/// stage that was cut too often is not lowered, and one without evidence stays. If that is more than there is
/// room for, what goes beyond the latter two gives way, each in proportion.
#[must_use]
pub fn fitted<const N: usize>(stages: [Standing; N], room: Duration, share: f64) -> [Duration; N] {
    let p95s: Duration = stages.iter().map(|stage| stage.p95()).sum();
    let scale = if p95s > room { room.as_secs_f64() / p95s.as_secs_f64() } else { 1.0 };
    let ranges = stages.map(|stage| stage.range(share * scale));
    let least: Duration = ranges.iter().map(|range| range.least).sum();
    let more: Duration = ranges.iter().map(|range| range.wanted - range.least).sum();
    let left = room.saturating_sub(least);
    let granted = if more > left { left.as_secs_f64() / more.as_secs_f64() } else { 1.0 };
    ranges.map(|range| whole_ms(range.least + (range.wanted - range.least).mul_f64(granted)))
}

impl Standing {
    fn p95(&self) -> Duration {
        self.evidence.map_or(self.today, |evidence| duration(evidence.p95))
    }

    fn range(&self, share: f64) -> Range {
        let Some(evidence) = self.evidence else {
            return Range { least: self.today, wanted: self.today };
        };
        let wanted = duration(evidence.p95).mul_f64(share).max(duration(evidence.p50));
        let least = if evidence.may_lower() { Duration::ZERO } else { self.today };
        Range { least, wanted: wanted.max(least) }
    }
}

fn duration(estimate: Estimate) -> Duration {
    Duration::try_from_secs_f64(estimate.ms / 1000.0).unwrap_or_default()
}

fn whole_ms(duration: Duration) -> Duration {
    Duration::from_micros(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 1000) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn standing(today: u64, p50: f64, p95: f64, cut: f64) -> Standing {
        let at = |ms| Estimate { ms, is_lower_bound: false };
        let evidence = Evidence { n: 1000, cut, p50: at(p50), p95: at(p95), p99: at(2.0 * p95) };
        Standing { today: ms(today), evidence: Some(evidence) }
    }

    fn stays(today: u64) -> Standing {
        Standing { today: ms(today), evidence: None }
    }

    #[track_caller]
    fn check(stages: [Standing; 3], room: u64, share: f64, expected: [u64; 3]) {
        assert_eq!(fitted(stages, ms(room), share), expected.map(ms));
    }

    #[test]
    fn what_fits_is_the_p95() {
        let stages = [
            standing(700, 200.0, 500.0, 0.0),
            standing(600, 100.0, 300.0, 0.05),
            standing(900, 800.0, 2000.0, 0.0),
        ];
        check(stages, 3950, 1.0, [500, 300, 2000]);
        check(stages, 3950, 0.5, [250, 150, 1000]);
        // Never below the median.
        check(stages, 3950, 0.1, [200, 100, 800]);
    }

    #[test]
    fn what_does_not_fit_is_scaled() {
        let stages = [
            standing(700, 350.0, 1000.0, 0.0),
            standing(600, 400.0, 2000.0, 0.0),
            standing(900, 800.0, 5000.0, 0.0),
        ];
        check(stages, 4000, 1.0, [500, 1000, 2500]);
        // Medians that do not fit give way too.
        check(stages, 775, 1.0, [175, 200, 400]);
    }

    #[test]
    fn stages_that_were_cut_too_often_are_not_lowered_and_others_make_room() {
        let stages = [
            standing(700, 100.0, 200.0, 0.06),
            standing(600, 400.0, 800.0, 0.06),
            standing(900, 800.0, 9000.0, 0.0),
        ];
        let [embed, vector, generate] = fitted(stages, ms(2300), 1.0);
        assert!(embed == ms(700) && vector >= ms(600) && generate <= ms(1000), "{generate:?}");
        assert!(embed + vector + generate <= ms(2300));
    }

    #[test]
    fn stages_without_evidence_stay() {
        check([stays(5), stays(5), standing(900, 400.0, 1000.0, 0.0)], 3950, 1.0, [5, 5, 1000]);
        check([stays(5), stays(5), standing(900, 400.0, 9000.0, 0.0)], 1010, 1.0, [5, 5, 1000]);
    }

    #[test]
    fn whatever_is_wanted_fits() {
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..2000 {
            let stages = [(); 3].map(|()| {
                let p50 = rng.f64() * 2000.0;
                standing(rng.u64(5..1000), p50, p50 * (1.0 + 5.0 * rng.f64()), rng.f64() / 5.0)
            });
            let room =
                stages.iter().map(|stage| stage.today).sum::<Duration>() + ms(rng.u64(0..2000));
            let found = fitted(stages, room, rng.f64());
            assert!(found.iter().sum::<Duration>() <= room, "{stages:?} {room:?} {found:?}");
            for (stage, found) in stages.iter().zip(found) {
                let held = !stage.evidence.is_some_and(|evidence| evidence.may_lower());
                assert!(!held || found >= stage.today, "{stage:?} {found:?}");
            }
        }
    }
}
