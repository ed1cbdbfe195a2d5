//! What to do next: one pure function of state, time and shares.
//!
//! Nothing here waits, calls or reads a clock, so every decision can be tested exhaustively, replayed
//! from a log and simulated offline. The driver does what it is told and reports what happened.

use deadline::{Allotment, Deadline};
use domain::{Reason, Stage};
use tokio::time::{Duration, Instant};

/// What is fixed for one request before its first decision.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// When the request began.
    pub start: Instant,
    /// When the response must leave.
    pub deadline: Deadline,
    pub allotment: Allotment,
    pub embedder: Readiness,
    pub generator: Readiness,
}

/// Whether a stage's implementation can be called for this request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// It is not part of this request, and nothing is missing: no reason is given.
    NotWanted,
    /// It should be there and is not, or is not configured.
    Missing(Reason),
}

/// Where a stage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Waiting,
    Running,
    /// It delivered; `useful` says whether there was anything in it.
    Delivered {
        useful: bool,
    },
    /// Skipped, cut or failed.
    Gone,
}

impl Progress {
    fn is_settled(self) -> bool {
        match self {
            Self::Waiting | Self::Running => false,
            Self::Delivered { .. } | Self::Gone => true,
        }
    }

    fn is_useful(self) -> bool {
        self == Self::Delivered { useful: true }
    }
}

/// Where the request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub keyword: Progress,
    pub embed: Progress,
    pub vector: Progress,
    pub generate: Progress,
    /// Whether the hits in hand answer the question at all; asked once retrieval has settled.
    pub answerable: bool,
}

impl State {
    /// Nothing has happened yet.
    pub const START: Self = Self {
        keyword: Progress::Waiting,
        embed: Progress::Waiting,
        vector: Progress::Waiting,
        generate: Progress::Waiting,
        answerable: false,
    };

    /// Where `stage` stands. Normalising is over before a plan is made; the template is what `Finish`
    /// leads to.
    #[must_use]
    pub fn progress(&self, stage: Stage) -> Progress {
        match stage {
            Stage::Keyword => self.keyword,
            Stage::Embed => self.embed,
            Stage::Vector => self.vector,
            Stage::Generate => self.generate,
            Stage::Normalize => Progress::Delivered { useful: true },
            Stage::Template => Progress::Waiting,
        }
    }

    /// Moves `stage` on.
    pub fn set(&mut self, stage: Stage, progress: Progress) {
        match stage {
            Stage::Keyword => self.keyword = progress,
            Stage::Embed => self.embed = progress,
            Stage::Vector => self.vector = progress,
            Stage::Generate => self.generate = progress,
            Stage::Normalize | Stage::Template => {}
        }
    }

    /// Whether every search has ended, one way or another.
    #[must_use]
    pub fn retrieval_settled(&self) -> bool {
        [self.keyword, self.embed, self.vector].into_iter().all(Progress::is_settled)
    }
}

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start `stage`, which has until `until`.
    Start { stage: Stage, until: Instant },
    /// Do not start `stage`; with a reason, the answer is less for it.
    Skip { stage: Stage, reason: Option<Reason> },
    /// `stage` has had its time: drop it.
    Cut { stage: Stage },
    /// Nothing to decide before something happens or `until` comes.
    Wait { until: Instant },
    /// Answer with what is in hand.
    Finish,
}

/// The stages that run, in the order in which they are looked at.
const RUNNING: [Stage; 4] = [Stage::Keyword, Stage::Embed, Stage::Vector, Stage::Generate];

/// Decides what to do at `now`.
///
/// The keyword search starts first and at once, so that an answer is in hand within milliseconds. A stage
/// starts only if its minimum *and* those after it still fit, and is cut where it would eat theirs. Once
/// some hits are in hand the other search is waited for until the retrieval cut-off at most. All time
/// beyond the minimums goes to generation.
#[must_use]
pub fn next(plan: &Plan, state: State, now: Instant) -> Action {
    for stage in RUNNING {
        if state.progress(stage) == Progress::Running && limit(plan, state, stage) <= now {
            return Action::Cut { stage };
        }
    }
    if let Some(action) = start_or_skip(plan, state, now) {
        return action;
    }
    let limits = RUNNING.into_iter().filter(|stage| state.progress(*stage) == Progress::Running);
    match limits.map(|stage| limit(plan, state, stage)).min() {
        Some(until) => Action::Wait { until },
        None => Action::Finish,
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
            Progress::Gone | Progress::Waiting | Progress::Running => {
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
        Readiness::Ready => start_in_time(plan, state, Stage::Generate, now),
    }
}

/// Starts `stage` if its minimum fits before its limit.
fn start_in_time(plan: &Plan, state: State, stage: Stage, now: Instant) -> Action {
    let until = limit(plan, state, stage);
    let left = until.saturating_duration_since(now);
    if left.is_zero() || left < minimum(plan, stage) {
        Action::Skip { stage, reason: Some(Reason::SkippedBudget) }
    } else {
        Action::Start { stage, until }
    }
}

fn minimum(plan: &Plan, stage: Stage) -> Duration {
    let minimums = plan.allotment.minimums();
    match stage {
        Stage::Embed => minimums.embed,
        Stage::Vector => minimums.vector,
        Stage::Generate => minimums.generate,
        Stage::Normalize | Stage::Keyword | Stage::Template => Duration::ZERO,
    }
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

impl Plan {
    /// What is kept back for putting the response on the wire: the configured reserve, or a quarter of a
    /// budget so short that the reserve would eat it.
    fn reserve(&self) -> Duration {
        self.allotment.reserve().min(self.deadline.remaining_at(self.start) / 4)
    }

    /// The moment that leaves `held` and the reserve before the deadline; never before the start.
    fn leaving(&self, held: Duration) -> Instant {
        let held = held + self.reserve();
        self.deadline.instant().checked_sub(held).map_or(self.start, |at| at.max(self.start))
    }

    /// Without a generator, what it would need is free for the others.
    fn generate_minimum(&self) -> Duration {
        match self.generator {
            Readiness::Ready => self.allotment.minimums().generate,
            Readiness::NotWanted | Readiness::Missing(_) => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadline::Minimums;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn plan(budget: u64, generator: Readiness) -> Plan {
        let start = Instant::now();
        let allotment =
            Allotment::new(ms(4000), Minimums::REMOTE, ms(50), ms(2000), ms(1200)).unwrap();
        let deadline = Deadline::from_start(start, ms(budget));
        Plan { start, deadline, allotment, embedder: Readiness::Ready, generator }
    }

    const USEFUL: Progress = Progress::Delivered { useful: true };
    const EMPTY: Progress = Progress::Delivered { useful: false };

    /// What is decided `at` milliseconds after the start, with moments as milliseconds.
    #[track_caller]
    fn check(plan: &Plan, state: State, at: u64, expected: &str) {
        let since = |moment: Instant| moment.duration_since(plan.start).as_millis();
        let action = match next(plan, state, plan.start + ms(at)) {
            Action::Start { stage, until } => format!("start {} {}", stage.as_str(), since(until)),
            Action::Skip { stage, reason } => {
                format!("skip {} {}", stage.as_str(), reason.map_or("-", Reason::as_str))
            }
            Action::Cut { stage } => format!("cut {}", stage.as_str()),
            Action::Wait { until } => format!("wait {}", since(until)),
            Action::Finish => "finish".to_owned(),
        };
        assert_eq!(action, expected, "{state:?} at {at} ms");
    }

    #[test]
    fn keywords_start_first_and_the_embedding_beside_them() {
        let plan = plan(4000, Readiness::Ready);
        check(&plan, State::START, 0, "start keyword 3050");
        let searching = State { keyword: Progress::Running, ..State::START };
        check(&plan, searching, 0, "start embed 2450");
        let both = State { embed: Progress::Running, ..searching };
        check(&plan, both, 1, "wait 2450");
    }

    #[test]
    fn with_keyword_hits_in_hand_vectors_are_waited_for_until_the_cutoff() {
        let plan = plan(4000, Readiness::Ready);
        let embedding = State { keyword: USEFUL, embed: Progress::Running, ..State::START };
        check(&plan, embedding, 5, "wait 2000");
        check(&plan, embedding, 2000, "cut embed");
        let looking = State { embed: USEFUL, vector: Progress::Running, ..embedding };
        check(&plan, looking, 1999, "wait 2000");
        check(&plan, looking, 2000, "cut vector");
    }

    #[test]
    fn with_nothing_in_hand_the_cutoff_does_not_apply() {
        let plan = plan(4000, Readiness::Ready);
        let empty =
            State { keyword: EMPTY, embed: USEFUL, vector: Progress::Running, ..State::START };
        check(&plan, empty, 2000, "wait 3050");
        check(&plan, empty, 3050, "cut vector");
    }

    #[test]
    fn vector_hits_in_hand_bound_a_stalled_keyword_search() {
        let plan = plan(4000, Readiness::Ready);
        let stalled =
            State { keyword: Progress::Running, embed: USEFUL, vector: USEFUL, ..State::START };
        check(&plan, stalled, 1000, "wait 2000");
        check(&plan, stalled, 2000, "cut keyword");
    }

    #[test]
    fn a_stage_starts_only_if_its_minimum_and_those_after_it_fit() {
        let keyword = State { keyword: USEFUL, ..State::START };
        check(&plan(2249, Readiness::Ready), keyword, 0, "skip embed skipped_budget");
        check(&plan(2250, Readiness::Ready), keyword, 0, "start embed 700");
        // What generation would need is free where there is none.
        check(&plan(1350, Readiness::Missing(Reason::NoGenerator)), keyword, 0, "start embed 700");

        let embedded = State { embed: USEFUL, ..keyword };
        let plan = plan(4000, Readiness::Ready);
        check(&plan, embedded, 1400, "start vector 2000");
        check(&plan, embedded, 1401, "skip vector skipped_budget");
    }

    #[test]
    fn what_follows_a_stage_that_is_gone_is_skipped_without_a_second_reason() {
        let plan = plan(4000, Readiness::Ready);
        let gone = State { keyword: USEFUL, embed: Progress::Gone, ..State::START };
        check(&plan, gone, 10, "skip vector -");
    }

    #[test]
    fn generation_gets_all_the_time_that_is_left() {
        let plan = plan(4000, Readiness::Ready);
        let found = State {
            keyword: USEFUL,
            embed: USEFUL,
            vector: USEFUL,
            answerable: true,
            ..State::START
        };
        check(&plan, found, 300, "start generate 3950");
        check(&plan, found, 3051, "skip generate skipped_budget");
        let writing = State { generate: Progress::Running, ..found };
        check(&plan, writing, 3949, "wait 3950");
        check(&plan, writing, 3950, "cut generate");
        check(&plan, State { answerable: false, ..found }, 300, "skip generate -");
        check(&plan, State { generate: Progress::Gone, ..found }, 300, "finish");
    }

    #[test]
    fn what_is_missing_or_not_wanted_is_skipped_with_its_reason_or_none() {
        let mut plan = plan(4000, Readiness::Missing(Reason::NoGenerator));
        plan.embedder = Readiness::Missing(Reason::Unavailable);
        let keyword = State { keyword: USEFUL, ..State::START };
        check(&plan, keyword, 0, "skip embed unavailable");
        plan.embedder = Readiness::NotWanted;
        check(&plan, keyword, 0, "skip embed -");
        let settled = State { embed: Progress::Gone, vector: Progress::Gone, ..keyword };
        check(&plan, settled, 1, "skip generate no_generator");
        plan.generator = Readiness::NotWanted;
        check(&plan, settled, 1, "skip generate -");
    }

    #[test]
    fn even_a_few_milliseconds_are_enough_to_try_the_keywords() {
        check(&plan(8, Readiness::Ready), State::START, 0, "start keyword 6");
        check(&plan(940, Readiness::Ready), State::START, 0, "start keyword 890");
        check(&plan(1000, Readiness::Ready), State::START, 0, "start keyword 50");
        check(&plan(8, Readiness::Ready), State::START, 8, "skip keyword skipped_budget");
    }
}
