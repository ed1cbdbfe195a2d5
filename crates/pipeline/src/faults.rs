//! [`FaultLog`]: faults in the log, without a line for every request while an upstream is down.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use domain::{Causes, Fault, FaultKind, Stage};
use tokio::time::{Duration, Instant};

/// At most one line a minute per stage and kind.
const PAUSE: Duration = Duration::from_secs(60);

/// Logs a fault where it becomes a reason.
#[derive(Debug, Default)]
pub(crate) struct FaultLog {
    last: Mutex<HashMap<(Stage, FaultKind), Instant>>,
}

impl FaultLog {
    /// Logs `fault` with its causes, unless its like was logged within the last minute.
    pub(crate) fn note(&self, stage: Stage, fault: &Fault) {
        if self.is_due(stage, fault.kind(), Instant::now()) {
            tracing::warn!(
                stage.name = stage.as_str(),
                error = %Causes(fault),
                "a stage failed; answers are degraded"
            );
        }
    }

    fn is_due(&self, stage: Stage, kind: FaultKind, now: Instant) -> bool {
        // A panic while holding the lock cannot leave the map half-written.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.get(&(stage, kind)).is_none_or(|at| now.duration_since(*at) >= PAUSE);
        if due {
            last.insert((stage, kind), now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_fault_that_repeats_is_logged_once_a_minute() {
        let log = FaultLog::default();
        let due = || log.is_due(Stage::Embed, FaultKind::Error, Instant::now());
        assert!(due());
        assert!(!due());
        assert!(log.is_due(Stage::Vector, FaultKind::Error, Instant::now()));
        assert!(log.is_due(Stage::Embed, FaultKind::Quota, Instant::now()));
        tokio::time::advance(PAUSE).await;
        assert!(due());
    }
}
