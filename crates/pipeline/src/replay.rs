//! Replaying latencies through the policy, without clocks or calls: what would the same day have come to
//! under other shares?

use domain::Stage;
use tokio::time::{Duration, Instant};

use crate::ExtraCalls;
use crate::policy::{self, Action, Calls, Draft, Model, Plan, Progress, Purse, State, Why, Write};

/// What each stage of one request would take. Every call succeeds.
pub trait Latencies {
    fn keyword(&self) -> Duration;
    fn embed(&self) -> Duration;
    fn vector(&self) -> Duration;
    /// The `attempt`th call (from 1) of a model.
    fn write(&self, write: Write, attempt: u32) -> WriteLatency;
}

/// What one call of a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteLatency {
    pub first_token: Duration,
    /// From the call to the end.
    pub whole: Duration,
    /// Its token cap cuts it at the end.
    pub truncated: bool,
}

/// What one request comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    pub text: Text,
    /// The vector search delivered.
    pub semantic: bool,
    pub calls: Calls,
    /// The model that wrote last.
    pub model: Option<Model>,
    pub spent: Duration,
}

/// How much of a generated answer there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    Whole,
    Part,
    None,
}

/// A request under way, all of whose moments are known beforehand.
struct Replay<'a> {
    plan: &'a Plan,
    latencies: &'a dyn Latencies,
    extra: &'a ExtraCalls,
    state: State,
    now: Instant,
    keyword: Option<Instant>,
    embed: Option<Instant>,
    vector: Option<Instant>,
    /// At most two, oldest first.
    writing: Vec<Writing>,
    text: Text,
}

/// One call of a model under way.
struct Writing {
    first_token: Instant,
    end: Instant,
    truncated: bool,
}

/// Replays one request whose hits answer the question. `extra` is shared by the requests of one replay.
#[must_use]
pub fn replay(plan: &Plan, latencies: &dyn Latencies, extra: &ExtraCalls) -> Replayed {
    let mut replay = Replay {
        plan,
        latencies,
        extra,
        state: State { answerable: true, ..State::START },
        now: plan.start,
        keyword: None,
        embed: None,
        vector: None,
        writing: Vec::new(),
        text: Text::None,
    };
    replay.run();
    Replayed {
        text: replay.text,
        semantic: replay.state.vector == Progress::Delivered { useful: true },
        calls: replay.state.calls,
        model: replay.state.draft.map(|draft| draft.model),
        spent: replay.now.saturating_duration_since(plan.start),
    }
}

impl Replay<'_> {
    fn run(&mut self) {
        loop {
            self.state.purse = Purse { replacement: self.extra.would_replace(), ..Purse::FULL };
            match policy::next(self.plan, self.state, self.now) {
                Action::Start { stage, .. } => self.start(stage),
                Action::Write(write) => self.write(write),
                Action::Skip { stage, .. } | Action::GiveUp { stage } => {
                    self.state.set(stage, Progress::Gone);
                }
                Action::Cut { stage } => self.cut(stage),
                Action::Wait { until } => self.wait(until),
                Action::Finish => return,
            }
        }
    }

    fn start(&mut self, stage: Stage) {
        self.state.call(stage);
        let lands = |takes: Duration| Some(self.now + takes);
        match stage {
            Stage::Keyword => self.keyword = lands(self.latencies.keyword()),
            Stage::Embed => self.embed = lands(self.latencies.embed()),
            Stage::Vector => self.vector = lands(self.latencies.vector()),
            Stage::Normalize | Stage::Generate | Stage::Template => {}
        }
    }

    fn write(&mut self, write: Write) {
        match write.why {
            Why::First => self.extra.first_call(),
            Why::Retry => {}
            Why::Replace => {
                self.extra.pay_replacement();
            }
        }
        self.state.call(Stage::Generate);
        let takes = self.latencies.write(write, self.state.calls.generate);
        self.state.draft = Some(Draft { model: write.model, began: self.now, has_text: false });
        if self.writing.len() == 2 {
            self.writing.remove(0);
        }
        self.writing.push(Writing {
            first_token: self.now + takes.first_token,
            end: self.now + takes.whole,
            truncated: takes.truncated,
        });
    }

    fn cut(&mut self, stage: Stage) {
        self.state.set(stage, Progress::Gone);
        match stage {
            Stage::Keyword => self.keyword = None,
            Stage::Embed => self.embed = None,
            Stage::Vector => self.vector = None,
            Stage::Generate => self.writing.clear(),
            Stage::Normalize | Stage::Template => {}
        }
    }

    /// On to the next thing that happens; what arrives goes before the clock.
    fn wait(&mut self, until: Instant) {
        let tokens = self.writing.iter().map(|writing| writing.first_token);
        let tokens = tokens.filter(|at| self.now < *at);
        let ends = self.writing.iter().map(|writing| writing.end);
        let searches = [self.keyword, self.embed, self.vector].into_iter().flatten();
        let next = searches.chain(tokens).chain(ends).min();
        let Some(at) = next.filter(|at| *at <= until) else {
            self.now = until;
            return;
        };
        self.now = at;
        let delivered = Progress::Delivered { useful: true };
        for (moment, stage) in [
            (&mut self.keyword, Stage::Keyword),
            (&mut self.embed, Stage::Embed),
            (&mut self.vector, Stage::Vector),
        ] {
            if *moment == Some(at) {
                *moment = None;
                self.state.set(stage, delivered);
            }
        }
        if self.writing.iter().any(|writing| writing.first_token <= at) {
            self.text = Text::Part;
            if let Some(draft) = &mut self.state.draft {
                draft.has_text = true;
            }
        }
        if let Some(ended) = self.writing.iter().find(|writing| writing.end <= at) {
            self.text = if ended.truncated { Text::Part } else { Text::Whole };
            self.writing.clear();
            self.state.set(Stage::Generate, delivered);
        }
    }
}

#[cfg(test)]
mod tests {
    use deadline::{Allotment, Deadline, Minimums};

    use super::*;
    use crate::Reasoning;
    use crate::policy::{Readiness, Writers};

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Embedding, vectors, and per call of a model its first token and its whole.
    struct Fixed(u64, u64, &'static [(u64, u64)]);

    impl Latencies for Fixed {
        fn keyword(&self) -> Duration {
            ms(1)
        }
        fn embed(&self) -> Duration {
            ms(self.0)
        }
        fn vector(&self) -> Duration {
            ms(self.1)
        }
        fn write(&self, _: Write, attempt: u32) -> WriteLatency {
            let (first_token, whole) = self.2[attempt as usize - 1];
            WriteLatency { first_token: ms(first_token), whole: ms(whole), truncated: false }
        }
    }

    #[track_caller]
    fn check(latencies: &Fixed, text: Text, semantic: bool, calls: u32, spent: u64) {
        let start = Instant::now();
        let shares = Allotment::new(ms(4000), Minimums::REMOTE, ms(50), ms(2000), ms(1200));
        let plan = Plan {
            start,
            deadline: Deadline::from_start(start, ms(4000)),
            allotment: shares.unwrap(),
            embedder: Readiness::Ready,
            generator: Readiness::Ready,
            writers: Writers::UNMEASURED,
            reasoning: Reasoning::Off,
        };
        let replayed = replay(&plan, latencies, &ExtraCalls::new());
        let seen = (replayed.text, replayed.semantic, replayed.calls.generate, replayed.spent);
        assert_eq!(seen, (text, semantic, calls, ms(spent)));
    }

    #[test]
    fn a_good_day_is_the_sum_of_its_stages() {
        check(&Fixed(300, 400, &[(500, 900)]), Text::Whole, true, 1, 1600);
    }

    #[test]
    fn slow_retrieval_is_cut_and_keywords_are_written_from() {
        check(&Fixed(900, 1500, &[(500, 900)]), Text::Whole, false, 1, 2900);
    }

    #[test]
    fn a_silent_model_is_replaced_and_a_slow_one_cut() {
        check(&Fixed(300, 400, &[(1300, 2600), (400, 800)]), Text::Whole, true, 2, 2700);
        check(&Fixed(300, 400, &[(1000, 9000)]), Text::Part, true, 1, 3950);
        let silent = &[(9000, 9000), (9000, 9000), (9000, 9000)];
        check(&Fixed(300, 400, silent), Text::None, true, 3, 3950);
        // The silent one goes on beside the one called in its place, and may still be the first to finish.
        check(&Fixed(300, 400, &[(1300, 1500), (400, 2000)]), Text::Whole, true, 2, 2200);
    }
}
