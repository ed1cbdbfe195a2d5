//! Who ate the budget, and who paid.

use std::time::Duration;

use deadline::Minimums;
use domain::{Outcome, Reason, Stage, StageReport};

/// Paid by nobody: the time that no stage was promised was enough.
const NONE: &str = "none";

/// The least time `stage` is promised, where it is promised any.
pub(crate) fn allotted(minimums: Minimums, stage: Stage) -> Option<Duration> {
    match stage {
        Stage::Embed => Some(minimums.embed),
        Stage::Vector => Some(minimums.vector),
        Stage::Generate => Some(minimums.generate),
        Stage::Normalize | Stage::Keyword | Stage::Template => None,
    }
}

/// For a stage that took more than its share, the later stage that went short for it, or `none`.
pub(crate) fn paid_by<'a>(
    eater: &StageReport,
    all: impl Iterator<Item = &'a StageReport>,
    minimums: Minimums,
) -> Option<&'static str> {
    if !took_more(eater, minimums) {
        return None;
    }
    let payer = all.filter(|later| pays_for(later, eater)).map(|later| later.stage).min();
    Some(payer.map_or(NONE, Stage::as_str))
}

/// It was cut at the end of what it had, or ran longer than its minimum. What generation takes beyond its
/// minimum nobody else could have used.
fn took_more(stage: &StageReport, minimums: Minimums) -> bool {
    let over_minimum = matches!(stage.stage, Stage::Embed | Stage::Vector)
        && stage.outcome != Outcome::Skipped
        && allotted(minimums, stage.stage).is_some_and(|allotted| stage.elapsed > allotted);
    stage.outcome == Outcome::Cut || over_minimum
}

/// It was cut, or not started for want of time or of what `eater` should have delivered.
fn pays_for(later: &StageReport, eater: &StageReport) -> bool {
    let is_later =
        later.stage > eater.stage && matches!(later.stage, Stage::Vector | Stage::Generate);
    let short_of_time = matches!(later.reason, Some(Reason::SkippedBudget | Reason::Timeout));
    let without_a_vector = later.stage == Stage::Vector && later.reason.is_none();
    is_later
        && match later.outcome {
            Outcome::Cut => true,
            Outcome::Skipped => short_of_time || without_a_vector,
            Outcome::Ok | Outcome::Failed => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMUMS: Minimums = Minimums::REMOTE;

    fn stage(stage: Stage, outcome: Outcome, ms: u64, reason: Option<Reason>) -> StageReport {
        StageReport {
            stage,
            outcome,
            started: Duration::ZERO,
            elapsed: Duration::from_millis(ms),
            budget: Duration::from_secs(2),
            reason,
        }
    }

    #[track_caller]
    fn check(stages: &[StageReport], expected: &[Option<&str>]) {
        let found: Vec<_> =
            stages.iter().map(|eater| paid_by(eater, stages.iter(), MINIMUMS)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn stages_within_their_share_ate_nothing() {
        check(
            &[
                stage(Stage::Keyword, Outcome::Ok, 3000, None),
                stage(Stage::Embed, Outcome::Ok, 700, None),
                stage(Stage::Vector, Outcome::Ok, 600, None),
                stage(Stage::Generate, Outcome::Ok, 2500, None),
            ],
            &[None, None, None, None],
        );
    }

    #[test]
    fn the_first_later_stage_that_went_short_paid() {
        let budget = Some(Reason::SkippedBudget);
        check(
            &[
                stage(Stage::Embed, Outcome::Ok, 1900, None),
                stage(Stage::Vector, Outcome::Cut, 100, Some(Reason::Timeout)),
                stage(Stage::Generate, Outcome::Skipped, 0, budget),
                stage(Stage::Template, Outcome::Ok, 0, None),
            ],
            &[Some("vector"), Some("generate"), None, None],
        );
    }

    #[test]
    fn time_that_nobody_was_promised_may_pay() {
        check(
            &[
                stage(Stage::Embed, Outcome::Ok, 701, None),
                stage(Stage::Vector, Outcome::Ok, 10, None),
                stage(Stage::Generate, Outcome::Ok, 900, None),
            ],
            &[Some("none"), None, None],
        );
    }

    #[test]
    fn a_vector_search_without_a_vector_paid_and_an_unwanted_generation_did_not() {
        check(
            &[
                stage(Stage::Embed, Outcome::Cut, 2000, Some(Reason::Timeout)),
                stage(Stage::Vector, Outcome::Skipped, 0, None),
            ],
            &[Some("vector"), None],
        );
        check(
            &[
                stage(Stage::Vector, Outcome::Cut, 2000, Some(Reason::Timeout)),
                stage(Stage::Generate, Outcome::Skipped, 0, Some(Reason::NoGenerator)),
            ],
            &[Some("none"), None],
        );
    }
}
