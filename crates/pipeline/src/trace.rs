//! [`Trace`]: what was decided when, so that a request can be understood and replayed.

use domain::Stage;
use serde::Serialize;
use tokio::time::Instant;

use crate::policy::{Action, Plan, Readiness, Speed};

/// A request's allotment and decisions.
#[derive(Clone, Debug, Serialize)]
pub struct Trace {
    /// Milliseconds.
    total: u128,
    embed_minimum: u128,
    vector_minimum: u128,
    generate_minimum: u128,
    reserve: u128,
    retrieval_cutoff: u128,
    first_token_cutoff: u128,
    /// How fast models were expected to write, where one could.
    #[serde(skip_serializing_if = "Option::is_none")]
    primary: Option<Pace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lighter: Option<Pace>,
    decisions: Vec<Decision>,
}

/// The speed that a model's calls were sized by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Pace {
    first_token_us: u128,
    tokens_per_second: f64,
}

/// One decision; moments are microseconds since the request's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    pub at_us: u128,
    /// `start`, `retry`, `replace`, `skip`, `cut`, `give_up` or `finish`.
    pub action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_us: Option<u128>,
    /// `primary` or `lighter`, where a model is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
}

impl Trace {
    pub(crate) fn new(plan: &Plan) -> Self {
        let minimums = plan.allotment.minimums();
        let writes = plan.generator == Readiness::Ready;
        let pace = |speed: Option<Speed>| speed.filter(|_| writes).map(Pace::of);
        Self {
            total: plan.deadline.remaining_at(plan.start).as_millis(),
            embed_minimum: minimums.embed.as_millis(),
            vector_minimum: minimums.vector.as_millis(),
            generate_minimum: minimums.generate.as_millis(),
            reserve: plan.allotment.reserve().as_millis(),
            retrieval_cutoff: plan.allotment.retrieval_cutoff().as_millis(),
            first_token_cutoff: plan.allotment.first_token_cutoff().as_millis(),
            primary: pace(Some(plan.writers.primary)),
            lighter: pace(plan.writers.lighter),
            decisions: Vec::new(),
        }
    }

    /// Notes a decision; waiting is none.
    pub(crate) fn note(&mut self, plan: &Plan, now: Instant, decided: Action) {
        let since = |moment: Instant| moment.saturating_duration_since(plan.start).as_micros();
        let (action, stage, until) = match decided {
            Action::Start { stage, until } => ("start", Some(stage), Some(until)),
            Action::Write(write) => (write.why.as_str(), Some(Stage::Generate), Some(write.until)),
            Action::GiveUp { stage } => ("give_up", Some(stage), None),
            Action::Skip { stage, .. } => ("skip", Some(stage), None),
            Action::Cut { stage } => ("cut", Some(stage), None),
            Action::Finish => ("finish", None, None),
            Action::Wait { .. } => return,
        };
        let write = match decided {
            Action::Write(write) => Some(write),
            Action::Start { .. }
            | Action::Skip { .. }
            | Action::Cut { .. }
            | Action::GiveUp { .. }
            | Action::Wait { .. }
            | Action::Finish => None,
        };
        self.decisions.push(Decision {
            model: write.map(|write| write.model.as_str()),
            max_output_tokens: write.map(|write| write.limits.max_output_tokens),
            at_us: since(now),
            action,
            stage: stage.map(Stage::as_str),
            until_us: until.map(since),
        });
    }

    /// The decisions, in order.
    #[must_use]
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }
}

impl Pace {
    fn of(speed: Speed) -> Self {
        Self {
            first_token_us: speed.first_token.as_micros(),
            tokens_per_second: speed.tokens_per_second,
        }
    }
}
