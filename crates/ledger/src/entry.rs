//! [`Entry`]: everything the log keeps of one request. Never its text.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use deadline::Minimums;
use domain::{AppName, Degradation, Language, Outcome, Reason, StageReport, Usage};
use serde::Serialize;
use uuid::Uuid;

/// One finished request.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Our own key.
    pub request_id: Uuid,
    /// What the client called it.
    pub client_request_id: Option<String>,
    /// `answer` or `search`.
    pub endpoint: &'static str,
    pub app: AppName,
    /// Whatever else the operator tells requests apart by.
    pub segment: Option<String>,
    pub lang: Language,
    /// When the request head was parsed.
    pub received_at: SystemTime,
    pub budget_requested: Option<Duration>,
    pub budget_total: Duration,
    pub spent: Duration,
    /// Whether the answer went out piece by piece.
    pub streamed: bool,
    /// From the request to its first text on the way to the client.
    pub first_content: Option<Duration>,
    /// The answer's kind, or `hits` for a search.
    pub kind: &'static str,
    pub degraded: bool,
    pub reasons: Vec<Degradation>,
    pub model: Option<Models>,
    pub generation: u64,
    /// Which calibration the allotment came from; 0 is the configuration.
    pub calibration: u64,
    /// The least time of each slow stage under that allotment.
    pub minimums: Minimums,
    /// What was decided when, as JSON.
    pub trace: String,
    pub stages: Vec<StageEntry>,
    /// Every call of a model, in order.
    pub calls: Vec<CallEntry>,
}

/// The models of one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Models {
    /// The one that was configured for this request.
    pub requested: String,
    /// The one that wrote the text.
    pub served: String,
}

/// One stage of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageEntry {
    pub report: StageReport,
    /// Calls made: retries, replacements and hedges included.
    pub attempts: u32,
    /// Whether a second call raced the first.
    pub hedged: bool,
    /// Whether a cache answered.
    pub cache_hit: bool,
}

/// One call of a model within one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallEntry {
    /// As configured.
    pub model: String,
    /// From 1.
    pub attempt: u32,
    /// From the request's start to the call.
    pub started: Duration,
    pub elapsed: Duration,
    /// From the call to its first piece of text.
    pub first_token: Option<Duration>,
    pub fate: CallFate,
    /// What the provider had said of tokens when the call ended; `None` if nothing.
    pub usage: Option<Usage>,
    /// Millionths of a US dollar; `None` where no price is known.
    pub cost_micros: Option<u64>,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFate {
    /// Its text is the answer.
    Used,
    /// Another call took over.
    Replaced,
    /// It ended without a text that could be used.
    Lost(Reason),
    /// Nobody waited for it any more.
    Abandoned,
}

/// How reasons are stored.
#[derive(Serialize)]
struct StoredReason {
    stage: &'static str,
    reason: &'static str,
}

impl Entry {
    /// Microseconds from the Unix epoch to the request; zero for a clock set before it.
    pub(crate) fn received_at_us(&self) -> i64 {
        unix_micros(self.received_at)
    }

    pub(crate) fn reasons_json(&self) -> String {
        let reasons: Vec<_> = self
            .reasons
            .iter()
            .map(|d| StoredReason { stage: d.stage.as_str(), reason: d.reason.as_str() })
            .collect();
        serde_json::to_string(&reasons).expect("two strings always serialise")
    }
}

impl StageEntry {
    /// A stage that was called `attempts` times, neither hedged nor answered from a cache.
    #[must_use]
    pub fn new(report: StageReport, attempts: u32) -> Self {
        Self { report, attempts, hedged: false, cache_hit: false }
    }
}

impl From<StageReport> for StageEntry {
    /// A stage that was called once, unless it was skipped.
    fn from(report: StageReport) -> Self {
        Self::new(report, u32::from(report.outcome != Outcome::Skipped))
    }
}

impl CallEntry {
    /// Input and output tokens that were billed for nothing.
    pub(crate) fn wasted_tokens(&self) -> u64 {
        match (self.fate, self.usage) {
            (CallFate::Used, _) | (_, None) => 0,
            (_, Some(usage)) => usage.input_tokens.saturating_add(usage.output_tokens),
        }
    }
}

impl CallFate {
    /// The stable name in the log and in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Used => "used",
            Self::Replaced => "replaced",
            Self::Lost(_) => "lost",
            Self::Abandoned => "abandoned",
        }
    }

    pub(crate) fn reason(self) -> Option<Reason> {
        match self {
            Self::Lost(reason) => Some(reason),
            Self::Used | Self::Replaced | Self::Abandoned => None,
        }
    }
}

/// Whole microseconds from the Unix epoch to `moment`; zero for an earlier one.
pub(crate) fn unix_micros(moment: SystemTime) -> i64 {
    moment.duration_since(UNIX_EPOCH).map_or(0, micros)
}

/// Whole microseconds, as databases' integers hold them.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// Whole milliseconds, as databases' integers hold them.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A count, as databases' integers hold it.
pub(crate) fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
