//! [`Check`]: one thing that was looked at, and what it came to.

use std::future::Future;
use std::time::Duration;

use deadline::Deadline;
use domain::AppName;
use serde::Serialize;
use tokio::time::Instant;

/// What a look came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Ok,
    /// Not looked at, because something that it rests on has failed.
    Skipped,
    /// Answers are given, but not the best ones, or not for long.
    Warning,
    /// It does not work.
    Failed,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Check {
    /// Stable, as are the states; words may change.
    pub(crate) id: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) app: Option<String>,
    pub(crate) state: State,
    /// What was found.
    pub(crate) detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<String>,
    /// How long the look took, where that says something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ms: Option<f64>,
}

impl Check {
    fn new(id: &'static str, state: State, detail: impl Into<String>) -> Self {
        Self { id, app: None, state, detail: detail.into(), advice: None, ms: None }
    }

    pub(super) fn ok(id: &'static str, detail: impl Into<String>) -> Self {
        Self::new(id, State::Ok, detail)
    }

    /// Not looked at, for the reason `why`.
    pub(super) fn skipped(id: &'static str, why: impl Into<String>) -> Self {
        Self::new(id, State::Skipped, why)
    }

    pub(super) fn warning(
        id: &'static str,
        detail: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { advice: Some(advice.into()), ..Self::new(id, State::Warning, detail) }
    }

    pub(super) fn failed(
        id: &'static str,
        detail: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { advice: Some(advice.into()), ..Self::new(id, State::Failed, detail) }
    }

    /// The same, of one app.
    pub(super) fn of(self, app: &AppName) -> Self {
        Self { app: Some(app.to_string()), ..self }
    }

    /// The same, which took so long.
    pub(super) fn after(self, took: Duration) -> Self {
        Self { ms: Some(millis(took)), ..self }
    }

    /// What people call it.
    pub(crate) fn name(&self) -> String {
        let name = self.id.replace('.', " ");
        match &self.app {
            Some(app) => format!("{name} ({app})"),
            None => name,
        }
    }
}

/// Milliseconds, to the microsecond.
pub(super) fn millis(took: Duration) -> f64 {
    (took.as_secs_f64() * 1_000_000.0).round() / 1000.0
}

/// Waits for `look` no longer than `limit`; `None` if it takes longer. Says how long it took.
pub(super) fn timed<T>(
    limit: Duration,
    look: impl Future<Output = T>,
) -> impl Future<Output = (Option<T>, Duration)> {
    // Looks are large, and many go on at once.
    let look = Box::pin(look);
    async move {
        let before = Instant::now();
        let seen = Deadline::after(limit).run(look).await.ok();
        (seen, before.elapsed())
    }
}

/// The check that `look` makes within `limit`, with its time.
pub(super) async fn bounded(
    id: &'static str,
    limit: Duration,
    look: impl Future<Output = Check>,
) -> Check {
    let (check, took) = timed(limit, look).await;
    let late = || {
        let detail = format!("no answer within {limit:?}");
        Check::failed(id, detail, "see what keeps it from answering: the network, or its load")
    };
    check.unwrap_or_else(late).after(took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_look_that_never_ends_has_failed_and_took_its_limit() {
        let limit = Duration::from_millis(2);
        let check = bounded("qdrant.server", limit, std::future::pending()).await;
        assert!(check.state == State::Failed && check.ms >= Some(2.0), "{check:?}");
        assert_eq!(check.detail, "no answer within 2ms");
    }
}
