//! What to do next: one pure function of state, time and shares.
//!
//! Nothing here waits, calls or reads a clock, so every decision can be tested exhaustively, replayed
//! from a log and simulated offline. The driver does what it is told and reports what happened.

mod plan;
mod state;
#[cfg(test)]
mod tests;
mod writing;

use domain::{GenerateLimits, Reason, Stage};
use tokio::time::{Duration, Instant};

pub use plan::{Measured, Model, Plan, Readiness, Reasoning, Speed, Writers};
pub use state::{Calls, Draft, Progress, Purse, State};
pub use writing::Why;

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start `stage` (again, if a call of it has failed), which has until `until`.
    Start { stage: Stage, until: Instant },
    /// Have a model write, beside one under way that keeps silent.
    Write(Write),
    /// Do not start `stage`; with a reason, the answer is less for it.
    Skip { stage: Stage, reason: Option<Reason> },
    /// `stage` has had its time: drop it.
    Cut { stage: Stage },
    /// `stage` has failed for good.
    GiveUp { stage: Stage },
    /// Nothing to decide before something happens or `until` comes.
    Wait { until: Instant },
    /// Answer with what is in hand.
    Finish,
}

/// A call of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    pub model: Model,
    pub until: Instant,
    pub limits: GenerateLimits,
    pub why: Why,
}

/// The stages that run, in the order in which they are looked at.
const RUNNING: [Stage; 4] = [Stage::Keyword, Stage::Embed, Stage::Vector, Stage::Generate];

/// The first call of a search and one more.
const MOST_SEARCH_CALLS: u32 = 2;

/// Decides what to do at `now`.
///
/// The keyword search starts first and at once, so that an answer is in hand within milliseconds. A stage
/// starts only if its minimum *and* those after it still fit, and is cut where it would eat theirs. Once
/// some hits are in hand the other search is waited for until the retrieval cut-off at most. All time
/// beyond the minimums goes to generation. A call that failed is made once more if the budget for extra calls
/// pays and it usually takes less than what is left; beside a model without a first token by its
/// cut-off another is called.
#[must_use]
pub fn next(plan: &Plan, state: State, now: Instant) -> Action {
    for stage in RUNNING {
        if state.progress(stage) == Progress::Running && limit(plan, state, stage) <= now {
            return Action::Cut { stage };
        }
    }
    let decided = start_or_skip(plan, state, now)
        .or_else(|| try_again_or_give_up(plan, state, now))
        .or_else(|| take_over(plan, state, now));
    if let Some(action) = decided {
        return action;
    }
    match RUNNING.into_iter().filter_map(|stage| wake(plan, state, stage)).min() {
        Some(until) => Action::Wait { until },
        None => Action::Finish,
    }
}

/// When something about `stage` will have to be decided, if nothing happens before.
fn wake(plan: &Plan, state: State, stage: Stage) -> Option<Instant> {
    match state.progress(stage) {
        Progress::Running => {
            let until = limit(plan, state, stage);
            let takeover =
                (stage == Stage::Generate).then(|| writing::takeover(plan, state, until)).flatten();
            Some(takeover.map_or(until, |at| at.min(until)))
        }
        Progress::Failed { again } => Some(again),
        Progress::Waiting | Progress::Delivered { .. } | Progress::Gone => None,
    }
}

/// The first waiting stage whose turn it is.
fn start_or_skip(plan: &Plan, state: State, now: Instant) -> Option<Action> {
    if state.keyword == Progress::Waiting {
        return Some(start_in_time(plan, state, Stage::Keyword, now));
    }
    if state.embed == Progress::Waiting {
        return Some(match plan.embedder {
            Readiness::Ready => start_in_time(plan, state, Stage::Embed, now),
            Readiness::NotWanted => Action::Skip { stage: Stage::Embed, reason: None },
            Readiness::Missing(reason) => {
                Action::Skip { stage: Stage::Embed, reason: Some(reason) }
            }
        });
    }
    if state.vector == Progress::Waiting && state.embed.is_settled() {
        return Some(match state.embed {
            Progress::Delivered { .. } => start_in_time(plan, state, Stage::Vector, now),
            // The reason stands at the embedding; one cause is reported once.
            Progress::Gone | Progress::Waiting | Progress::Running | Progress::Failed { .. } => {
                Action::Skip { stage: Stage::Vector, reason: None }
            }
        });
    }
    if state.generate == Progress::Waiting && state.retrieval_settled() {
        return Some(generate_or_skip(plan, state, now));
    }
    None
}

fn generate_or_skip(plan: &Plan, state: State, now: Instant) -> Action {
    let skip = |reason| Action::Skip { stage: Stage::Generate, reason };
    match plan.generator {
        Readiness::NotWanted => skip(None),
        Readiness::Missing(reason) => skip(Some(reason)),
        // A model has nothing to say about passages that do not answer.
        Readiness::Ready if !state.answerable => skip(None),
        Readiness::Ready => match start_in_time(plan, state, Stage::Generate, now) {
            Action::Start { until, .. } => writing::first(plan, state, now, until)
                .unwrap_or_else(|| skip(Some(Reason::SkippedBudget))),
            otherwise @ (Action::Write(_)
            | Action::Skip { .. }
            | Action::Cut { .. }
            | Action::GiveUp { .. }
            | Action::Wait { .. }
            | Action::Finish) => otherwise,
        },
    }
}

/// Starts `stage` if its minimum fits before its limit.
fn start_in_time(plan: &Plan, state: State, stage: Stage, now: Instant) -> Action {
    let until = limit(plan, state, stage);
    let left = until.saturating_duration_since(now);
    if left.is_zero() || left < plan.minimum(stage) {
        Action::Skip { stage, reason: Some(Reason::SkippedBudget) }
    } else {
        Action::Start { stage, until }
    }
}

/// What becomes of the first stage whose call has failed.
fn try_again_or_give_up(plan: &Plan, state: State, now: Instant) -> Option<Action> {
    let failed = RUNNING.into_iter().find_map(|stage| match state.progress(stage) {
        Progress::Failed { again } => Some((stage, again)),
        Progress::Waiting | Progress::Running | Progress::Delivered { .. } | Progress::Gone => None,
    });
    let (stage, again) = failed?;
    let until = limit(plan, state, stage);
    if !may_try_again(plan, state, stage, again.max(now), until) {
        return Some(Action::GiveUp { stage });
    }
    if now < again {
        return None;
    }
    if stage == Stage::Generate {
        let retried = writing::another(plan, now, until, Why::Retry);
        return Some(retried.unwrap_or(Action::GiveUp { stage }));
    }
    Some(Action::Start { stage, until })
}

/// Whether a call of `stage`, which has just failed, is to be made again at `again`.
#[must_use]
pub fn would_try_again(plan: &Plan, state: State, stage: Stage, again: Instant) -> bool {
    may_try_again(plan, state, stage, again, limit(plan, state, stage))
}

/// Whether a call of `stage` from `at` on is paid for and would usually be over in time.
fn may_try_again(plan: &Plan, state: State, stage: Stage, at: Instant, until: Instant) -> bool {
    let in_time = || at + plan.usual(stage) <= until;
    match stage {
        Stage::Embed => {
            state.purse.embed_retry && state.calls.embed < MOST_SEARCH_CALLS && in_time()
        }
        Stage::Vector => {
            state.purse.vector_retry && state.calls.vector < MOST_SEARCH_CALLS && in_time()
        }
        Stage::Generate => {
            state.purse.generate_retry && writing::is_worth_another(plan, state, at, until)
        }
        Stage::Normalize | Stage::Keyword | Stage::Template => false,
    }
}

/// Another model in place of one that has not shown a first token in time.
fn take_over(plan: &Plan, state: State, now: Instant) -> Option<Action> {
    if state.generate != Progress::Running {
        return None;
    }
    let until = limit(plan, state, Stage::Generate);
    let due = writing::takeover(plan, state, until)? <= now;
    if due { writing::another(plan, now, until, Why::Replace) } else { None }
}

/// The moment at which `stage` must be over: where it would eat what belongs to the stages after it, or
/// the retrieval cut-off if the other search has given hits already.
#[must_use]
pub fn limit(plan: &Plan, state: State, stage: Stage) -> Instant {
    let cutoff = plan.start + plan.allotment.retrieval_cutoff();
    let unless_in_hand = |hard: Instant, in_hand| if in_hand { hard.min(cutoff) } else { hard };
    match stage {
        Stage::Keyword => unless_in_hand(keyword_limit(plan), state.vector.is_useful()),
        Stage::Embed => unless_in_hand(
            plan.leaving(plan.generate_minimum() + plan.allotment.minimums().vector),
            state.keyword.is_useful(),
        ),
        Stage::Vector => {
            unless_in_hand(plan.leaving(plan.generate_minimum()), state.keyword.is_useful())
        }
        Stage::Generate => plan.leaving(Duration::ZERO),
        Stage::Normalize | Stage::Template => plan.deadline.instant(),
    }
}

/// The keyword search leaves generation its minimum, unless that fits no budget this short: then there
/// will be no generation, and the time is its own.
fn keyword_limit(plan: &Plan) -> Instant {
    let sparing = plan.leaving(plan.generate_minimum());
    if sparing > plan.start { sparing } else { plan.leaving(Duration::ZERO) }
}
