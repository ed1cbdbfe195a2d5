//! Looking at everything that an answer depends on, in plain words. Nothing is changed by it, every look is bounded,
//! and what does not rest on one another is looked at at once.

mod apis;
mod calibration;
mod check;
mod clock;
mod data;
mod index;
mod postgres;
mod qdrant;
mod server;
mod settings;
mod words;

use std::time::Duration;

use deadline::Deadline;
use ledger::PgSettings;
use serde::Serialize;
use tokio::time::Instant;

use crate::compose::Engine;
use crate::config::{Changed, Config, Provider};
use crate::stores;

pub(crate) use check::{Check, State};
use postgres::Tables;
pub(crate) use settings::refused;

/// How long all of it may take, and of that, how long what comes after the index.
const ALL: Duration = Duration::from_millis(9500);
const LAST: Duration = Duration::from_secs(1);

/// How long loading the bundled model may take.
const LOAD: Duration = Duration::from_secs(4);

/// What looking at everything came to.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) verdict: State,
    version: &'static str,
    took_ms: f64,
    /// What to do first, if anything.
    pub(crate) first: Option<String>,
    pub(crate) checks: Vec<Check>,
}

impl Report {
    /// Of `checks`, the first of which others rest on.
    pub(crate) fn new(checks: Vec<Check>, took: Duration) -> Self {
        let worst = checks.iter().map(|check| check.state).max_by_key(|state| weight(*state));
        let verdict = worst.unwrap_or(State::Ok);
        let first = checks.iter().find(|check| check.state == verdict);
        let first =
            first.and_then(|check| Some(format!("{}: {}", check.name(), check.advice.as_deref()?)));
        let took_ms = check::millis(took);
        Self { verdict, version: env!("CARGO_PKG_VERSION"), took_ms, first, checks }
    }
}

/// What is skipped has been skipped for something worse, and is no verdict.
fn weight(state: State) -> u8 {
    match state {
        State::Skipped => 0,
        State::Ok => 1,
        State::Warning => 2,
        State::Failed => 3,
    }
}

/// Looks at everything.
pub(crate) async fn examine(
    config: &Config,
    changed: &[Changed],
    database: Option<&PgSettings>,
) -> Report {
    let (start, until) = (Instant::now(), Deadline::after(ALL));
    let mut checks = settings::examine(config, changed);
    let (data, postgres, qdrant, models, server) = tokio::join!(
        data::examine(config),
        postgres::examine(config, database),
        services(config),
        models(config),
        server::examine(config),
    );
    let usable = index::Usable { catalog: postgres.catalog, qdrant: qdrant.usable };
    let index = match &models.engine {
        Some(engine) => {
            index::examine(&unchanging(config), engine, usable, until.reserving(LAST)).await
        }
        None => Check::skipped("index.catalog", "the bundled model does not load").into(),
    };
    let calibration = match postgres.log {
        Tables::Usable => calibration::examine(config, database, &index.published, until).await,
        Tables::Behind => {
            vec![Check::skipped("calibration", "the log's tables are not up to date")]
        }
        Tables::Away => vec![Check::skipped("calibration", "Postgres cannot be asked")],
    };
    let clock = clock::examine(postgres.clock.map(Into::into), models.clock);
    checks.extend(data.into_iter().chain(postgres.checks).chain(qdrant.checks));
    let server = server::judged(server, config, &index.published);
    checks.extend(index.checks.into_iter().chain(models.checks).chain(calibration).chain(clock));
    checks.push(server);
    Report::new(checks, start.elapsed())
}

/// Whoever opens a catalog in Postgres brings it up to date where that is allowed; looking must not.
fn unchanging(config: &Config) -> Config {
    let mut config = config.clone();
    config.migrate_at_start = false;
    config
}

async fn services(config: &Config) -> qdrant::Seen {
    match stores::qdrant(config) {
        Ok(qdrant) => qdrant::examine(qdrant.as_ref()).await,
        Err(error) => {
            let advice = "mend what is named here";
            let check = Check::failed("qdrant.server", format!("{error:#}"), advice);
            qdrant::Seen { checks: vec![check], usable: false }
        }
    }
}

/// The models, and what the index is asked with.
struct Models {
    engine: Option<Engine>,
    checks: Vec<Check>,
    clock: Option<clock::Offset>,
}

async fn models(config: &Config) -> Models {
    let (loading, for_thread) = (config.clone(), config.clone());
    let loaded = off_the_runtime(move || Engine::load(&loading)).await;
    match loaded {
        Ok(engine) => {
            let seen = apis::examine(config, &engine).await;
            Models { engine: Some(engine), checks: seen.checks, clock: seen.clock }
        }
        Err(error) => {
            let advice = "mend what is named here";
            let check = Check::failed("models.answering", format!("{error:#}"), advice);
            // The index is looked at all the same, as if no model wrote.
            let silent = without_writer(for_thread);
            let engine = off_the_runtime(move || Engine::load(&silent)).await.ok();
            Models { engine, checks: vec![check], clock: None }
        }
    }
}

fn without_writer(mut config: Config) -> Config {
    config.generate.provider = Provider::Off;
    config
}

async fn off_the_runtime(
    load: impl FnOnce() -> anyhow::Result<Engine> + Send + 'static,
) -> anyhow::Result<Engine> {
    let (loaded, _) = check::timed(LOAD, tokio::task::spawn_blocking(load)).await;
    match loaded {
        Some(loaded) => loaded?,
        None => anyhow::bail!("the bundled model did not load within {LOAD:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_the_worst_and_what_to_do_first_is_of_the_first_of_its_kind() {
        let report = |checks| Report::new(checks, Duration::ZERO);
        assert_eq!(report(vec![]).verdict, State::Ok);
        let ok = || Check::ok("configuration", "valid");
        let warning = || Check::warning("data.disk", "900 MiB free", "make room");
        let skipped = || Check::skipped("calibration", "unknown");
        let failed = |advice| Check::failed("postgres.server", "refused", advice);
        let none = report(vec![ok(), skipped()]);
        assert_eq!((none.verdict, none.first), (State::Ok, None));
        let warned = report(vec![ok(), skipped(), warning()]);
        assert_eq!(warned.verdict, State::Warning);
        assert_eq!(warned.first.as_deref(), Some("data disk: make room"));
        let failed = report(vec![warning(), failed("start it"), failed("and then this")]);
        assert_eq!(failed.verdict, State::Failed);
        assert_eq!(failed.first.as_deref(), Some("postgres server: start it"));
    }
}
