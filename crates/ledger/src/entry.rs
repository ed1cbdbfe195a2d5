//! [`Entry`]: everything the log keeps of one request. Never its text.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::{AppName, Degradation, Language, StageReport};
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
    pub lang: Language,
    /// When the request head was parsed.
    pub received_at: SystemTime,
    pub budget_requested: Option<Duration>,
    pub budget_total: Duration,
    pub spent: Duration,
    /// The answer's kind, or `hits` for a search.
    pub kind: &'static str,
    pub degraded: bool,
    pub reasons: Vec<Degradation>,
    pub generation: u64,
    /// Which calibration the allotment came from; 0 is the configuration.
    pub calibration: u64,
    /// What was decided when, as JSON.
    pub trace: String,
    pub stages: Vec<StageReport>,
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
        self.received_at.duration_since(UNIX_EPOCH).map_or(0, micros)
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

/// Whole microseconds, as SQLite's integers hold them.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// Whole milliseconds, as SQLite's integers hold them.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
