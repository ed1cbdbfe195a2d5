//! Stages, what became of each, and the closed vocabulary of reasons.

use std::time::Duration;

use serde::Serialize;

/// A step of the pipeline, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Normalize,
    Keyword,
    Embed,
    Vector,
    Generate,
    Template,
}

impl Stage {
    /// Every stage, in the pipeline's order.
    pub const ALL: [Self; 6] =
        [Self::Normalize, Self::Keyword, Self::Embed, Self::Vector, Self::Generate, Self::Template];

    /// The stable name in responses, logs and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normalize => "normalize",
            Self::Keyword => "keyword",
            Self::Embed => "embed",
            Self::Vector => "vector",
            Self::Generate => "generate",
            Self::Template => "template",
        }
    }
}

/// What became of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It delivered.
    Ok,
    /// It was not started.
    Skipped,
    /// Its time ran out, or its result could no longer help.
    Cut,
    /// It failed.
    Failed,
}

impl Outcome {
    /// The stable name in responses, logs and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Skipped => "skipped",
            Self::Cut => "cut",
            Self::Failed => "failed",
        }
    }
}

/// Why an answer is less than it could be. Closed on our side; clients must tolerate new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Not started: its minimum and those after it no longer fitted the budget.
    SkippedBudget,
    /// Cut by time.
    Timeout,
    Error,
    RateLimited,
    BreakerOpen,
    Blocked,
    ThinkingExhausted,
    /// Cut by its token cap.
    Truncated,
    /// The citations do not hold.
    Unsupported,
    /// The model itself says that the passages do not answer.
    Declined,
    Quota,
    Overloaded,
    /// From a cache, older than the knowledge.
    Stale,
    Unavailable,
    /// A lighter model answered. Informs only.
    Downgraded,
    /// No model is configured. Informs only.
    NoGenerator,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 16] = [
        Self::SkippedBudget,
        Self::Timeout,
        Self::Error,
        Self::RateLimited,
        Self::BreakerOpen,
        Self::Blocked,
        Self::ThinkingExhausted,
        Self::Truncated,
        Self::Unsupported,
        Self::Declined,
        Self::Quota,
        Self::Overloaded,
        Self::Stale,
        Self::Unavailable,
        Self::Downgraded,
        Self::NoGenerator,
    ];

    /// The stable name in responses, logs and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SkippedBudget => "skipped_budget",
            Self::Timeout => "timeout",
            Self::Error => "error",
            Self::RateLimited => "rate_limited",
            Self::BreakerOpen => "breaker_open",
            Self::Blocked => "blocked",
            Self::ThinkingExhausted => "thinking_exhausted",
            Self::Truncated => "truncated",
            Self::Unsupported => "unsupported",
            Self::Declined => "declined",
            Self::Quota => "quota",
            Self::Overloaded => "overloaded",
            Self::Stale => "stale",
            Self::Unavailable => "unavailable",
            Self::Downgraded => "downgraded",
            Self::NoGenerator => "no_generator",
        }
    }

    /// Whether an answer with this reason is degraded; the others only inform.
    #[must_use]
    pub fn degrades(self) -> bool {
        !matches!(self, Self::Downgraded | Self::NoGenerator)
    }
}

/// One reason, with the stage it befell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Degradation {
    pub stage: Stage,
    pub reason: Reason,
    /// What the stage was given.
    pub budget: Duration,
    /// What it used.
    pub elapsed: Duration,
}

/// What one stage did within one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageReport {
    pub stage: Stage,
    pub outcome: Outcome,
    /// From the request's start to the stage's.
    pub started: Duration,
    pub elapsed: Duration,
    /// What the stage was given at its start; zero for a skipped one.
    pub budget: Duration,
    pub reason: Option<Reason>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_ones_that_serde_writes() {
        for stage in Stage::ALL {
            assert_eq!(serde_json::to_value(stage).unwrap(), stage.as_str());
        }
        for reason in Reason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
        }
        for outcome in [Outcome::Ok, Outcome::Skipped, Outcome::Cut, Outcome::Failed] {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
        }
    }

    #[test]
    fn only_two_reasons_inform_without_degrading() {
        let informing: Vec<_> =
            Reason::ALL.into_iter().filter(|reason| !reason.degrades()).collect();
        assert_eq!(informing, [Reason::Downgraded, Reason::NoGenerator]);
    }
}
