//! [`Reply`]: what is counted of an answer.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What is counted of one answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    /// The server's name for it.
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) degraded: bool,
    /// Stage and reason.
    pub(crate) reasons: Vec<(String, String)>,
    pub(crate) stages: Vec<StageTime>,
    /// The budget that the server gave.
    pub(crate) budget: Duration,
}

/// What the reply says of one stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct StageTime {
    pub(crate) stage: String,
    pub(crate) outcome: String,
    pub(crate) ms: f64,
}

#[derive(Deserialize)]
pub(crate) struct Body<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) answer: Answer<'a>,
    degraded: bool,
    #[serde(borrow)]
    reasons: Vec<Reason<'a>>,
    budget: Budget,
    #[serde(borrow)]
    stages: Vec<Stage<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct Answer<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Reason<'a> {
    #[serde(borrow)]
    stage: Cow<'a, str>,
    #[serde(borrow)]
    reason: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Budget {
    total_ms: u64,
}

#[derive(Deserialize)]
struct Stage<'a> {
    #[serde(borrow)]
    stage: Cow<'a, str>,
    #[serde(borrow)]
    outcome: Cow<'a, str>,
    ms: f64,
}

impl Reply {
    /// Whether the vector search delivered.
    pub(crate) fn has_vectors(&self) -> bool {
        self.stages.iter().any(|stage| stage.stage == "vector" && stage.outcome == "ok")
    }
}

impl Stage<'_> {
    fn time(&self) -> StageTime {
        StageTime { stage: self.stage.to_string(), outcome: self.outcome.to_string(), ms: self.ms }
    }
}

impl<'a> Body<'a> {
    pub(crate) fn read(json: &'a [u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }

    pub(crate) fn reply(&self) -> Reply {
        let reasons = self.reasons.iter();
        Reply {
            id: self.id.clone().into_owned(),
            kind: self.answer.kind.clone().into_owned(),
            degraded: self.degraded,
            reasons: reasons.map(|r| (r.stage.to_string(), r.reason.to_string())).collect(),
            stages: self.stages.iter().map(Stage::time).collect(),
            budget: Duration::from_millis(self.budget.total_ms),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const BODY: &str = r#"{"id": "0", "answer": {"kind": "templated", "text": "Say \"a\". [1]", "lang": "en"},
        "citations": [], "degraded": true,
        "reasons": [{"stage": "embed", "reason": "timeout", "budget_ms": 900, "elapsed_ms": 900.1}],
        "budget": {"requested_ms": null, "total_ms": 4000, "spent_ms": 17.1},
        "stages": [{"stage": "vector", "outcome": "ok", "ms": 0.1}], "generation": 17}"#;

    pub(crate) fn delivered(stage: &str, ms: f64) -> StageTime {
        StageTime { stage: stage.to_owned(), outcome: "ok".to_owned(), ms }
    }

    #[test]
    fn what_counts_is_read_and_the_rest_is_passed_over() {
        let body = Body::read(BODY.as_bytes()).unwrap();
        assert_eq!(body.answer.text, "Say \"a\". [1]");
        let expected = Reply {
            id: "0".to_owned(),
            kind: "templated".to_owned(),
            degraded: true,
            reasons: vec![("embed".to_owned(), "timeout".to_owned())],
            stages: vec![delivered("vector", 0.1)],
            budget: Duration::from_secs(4),
        };
        assert_eq!(body.reply(), expected);
        assert!(expected.has_vectors());
    }
}
