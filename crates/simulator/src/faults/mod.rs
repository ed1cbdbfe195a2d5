//! What goes wrong, how often, and when.

mod kind;
mod plan;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use kind::{FaultKind, Stage, UnknownFault};
pub use plan::{FaultPlan, FaultPlanError, StageFaults, Step};

/// A fault and its particulars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub kind: FaultKind,
    /// The share of calls that meet it, 0 to 1; steps of a script always do.
    #[serde(default = "always")]
    pub rate: f64,
    /// Chunks sent in good order before it, where it comes in the middle.
    #[serde(default = "one")]
    pub after_chunks: usize,
    /// Wait before an error reply, or on top of the drawn latency; milliseconds, not time-scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// The delay to retry after, in milliseconds, instead of the simulator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_delay_ms: Option<u64>,
    /// Only calls of models whose name holds this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

fn always() -> f64 {
    1.0
}

fn one() -> usize {
    1
}

impl Fault {
    /// `kind` on every call, after one chunk.
    #[must_use]
    pub fn always(kind: FaultKind) -> Self {
        let (rate, after_chunks) = (always(), one());
        Self { kind, rate, after_chunks, delay_ms: None, retry_delay_ms: None, model: None }
    }

    /// The same on a share of calls.
    #[must_use]
    pub fn with_rate(self, rate: f64) -> Self {
        Self { rate, ..self }
    }

    /// The same after another number of chunks.
    #[must_use]
    pub fn after_chunks(self, after_chunks: usize) -> Self {
        Self { after_chunks, ..self }
    }

    /// The wait that the fault itself adds.
    pub(crate) fn delay(&self) -> Duration {
        const ADMIN_DELAY_MS: u64 = 1000;
        let default = if self.kind == FaultKind::AdminDelay { ADMIN_DELAY_MS } else { 0 };
        Duration::from_millis(self.delay_ms.unwrap_or(default))
    }

    fn is_for(&self, model: &str) -> bool {
        self.model.as_ref().is_none_or(|part| model.contains(part.as_str()))
    }
}
