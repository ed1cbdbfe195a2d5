//! Looking at everything that an answer depends on, one thing after the other, in plain words.

mod apis;
mod data;

use std::future::Future;

use serde::Serialize;
use tokio::time::Instant;

use crate::compose::Engine;
use crate::config::Config;

/// What a look came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Ok,
    /// Answers are given, but not the best ones.
    Warning,
    /// It does not work.
    Failed,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) state: State,
    /// What was found, and what to do about it.
    pub(crate) detail: String,
    /// How long the look took, where that says something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ms: Option<f64>,
}

impl Check {
    fn new(name: &str, state: State, detail: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state, detail: detail.into(), ms: None }
    }

    fn ok(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, State::Ok, detail)
    }

    fn warning(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, State::Warning, detail)
    }

    fn failed(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, State::Failed, detail)
    }
}

/// Times `look`.
async fn timed(look: impl Future<Output = Check>) -> Check {
    let before = Instant::now();
    let check = look.await;
    Check { ms: Some(before.elapsed().as_secs_f64() * 1000.0), ..check }
}

/// Looks at everything.
pub(crate) async fn examine(config: &Config) -> Vec<Check> {
    let mut checks = vec![Check::ok("configuration", "every setting is known and fits the others")];
    match Engine::load(config) {
        Ok(engine) => {
            checks.extend(data::examine(config, &engine).await);
            checks.extend(apis::examine(config, &engine).await);
        }
        Err(error) => checks.push(Check::failed("models", format!("{error:#}"))),
    }
    checks
}
