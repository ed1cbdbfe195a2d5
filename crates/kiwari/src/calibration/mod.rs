//! Tomorrow's shares from yesterday's latencies: proposed, stored, and taken up by running servers.

mod follow;
mod lucks;
mod proposal;
mod replayed;
mod schedule;
mod speeds;

use std::convert::Infallible;
use std::future::pending;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use deadline::Deadline;
use domain::AppName;
use ingest::DataDir;
use ledger::calibration::{self, Applied, New, Values, Window};
use ledger::reports::Source;
use ledger::{PgSettings, Store};

use crate::config::Config;
use crate::stores;

pub(crate) use follow::Calibrations;
use proposal::Known;
pub(crate) use proposal::{Proposal, Refusal};
pub(crate) use replayed::Outlook;

/// What a calibration rests on unless said otherwise.
pub(crate) const USUAL_WINDOW: Duration = Duration::from_secs(14 * 86_400);

/// How long the catalog may take to say what an app's newest generation is made of.
const ASK: Duration = Duration::from_secs(5);

/// Where the log is: Postgres where there is one; its rows pass through the local file only on their way there.
pub(crate) async fn source(
    data: &DataDir,
    database: Option<&PgSettings>,
) -> anyhow::Result<Source> {
    if let Some(database) = database {
        return Ok(Source::postgres(database));
    }
    let path = data.ledger();
    if !path.is_file() {
        bail!("there is no latency log at {}; `kiwari serve` writes one", path.display());
    }
    Ok(Source::Sqlite(Store::open(&path).await?))
}

/// Follows what is applied and calibrates once a day, as configured, for as long as the server runs.
pub(crate) async fn live(
    config: &Config,
    data: &DataDir,
    calibrations: &Calibrations,
    database: Option<&PgSettings>,
) -> Infallible {
    let source = match source(data, database).await {
        Ok(source) => source,
        Err(error) => {
            tracing::warn!(error = %format!("{error:#}"), "no calibration is taken up");
            return pending().await;
        }
    };
    let following = async {
        match config.calibration.look_every {
            Some(every) => calibrations.follow(&source, every).await,
            None => pending().await,
        }
    };
    tokio::select! {
        never = following => never,
        never = schedule::keep_calibrated(config, &source) => never,
    }
}

/// The window that ends now.
pub(crate) fn window(length: Duration) -> Window {
    let to = SystemTime::now();
    Window { from: to.checked_sub(length).unwrap_or(SystemTime::UNIX_EPOCH), to }
}

/// The apps that answered anything within `window`.
pub(crate) async fn apps(source: &Source, window: Window) -> anyhow::Result<Vec<AppName>> {
    let names = calibration::apps(source, window).await?;
    names
        .iter()
        .map(|name| name.parse().with_context(|| format!("no app's name: {name}")))
        .collect()
}

/// What the log of `window` proposes for `app`.
pub(crate) async fn propose(
    config: &Config,
    source: &Source,
    app: &AppName,
    window: Window,
) -> anyhow::Result<Result<Proposal, Refusal>> {
    let history = calibration::history(source, app.as_str(), window).await?;
    let in_force = in_force(config, source, app).await?;
    let known = known(config, app).await;
    let (config, app) = (config.clone(), app.clone());
    // Replaying keeps a core busy for seconds.
    let proposing = tokio::task::spawn_blocking(move || {
        proposal::propose(&config, &app, &history, known, in_force.as_ref())
    });
    proposing.await.context("the proposal broke off")
}

/// Which stages are remote, as the catalog has it; nothing, where that cannot be asked.
async fn known(config: &Config, app: &AppName) -> Known {
    let mut config = config.clone();
    config.migrate_at_start = false;
    let asking = async {
        let stores = stores::indexed(&config).await?;
        let newest = stores.catalog.newest_of(app).await;
        stores.catalog.close().await;
        anyhow::Ok(newest?)
    };
    match Deadline::after(ASK).run(asking).await {
        Ok(Ok(newest)) => newest.map(|newest| Known::of(&newest.recipe)).unwrap_or_default(),
        Ok(Err(_)) | Err(_) => Known::default(),
    }
}

/// The calibration that servers run under now, if it can be used.
async fn in_force(
    config: &Config,
    source: &Source,
    app: &AppName,
) -> anyhow::Result<Option<(u64, Values)>> {
    let newest = calibration::newest(source).await?;
    let newest = newest.into_iter().filter(|applied| applied.app == app.as_str());
    let usable = |applied: Applied| {
        let (_, values) = follow::read(&config.shares, &applied).ok()?;
        Some((applied.number, values))
    };
    Ok(newest.filter_map(usable).next())
}

/// What `applied` holds, if servers of this configuration run under it.
pub(crate) fn understood(config: &Config, applied: &Applied) -> anyhow::Result<Values> {
    Ok(follow::read(&config.shares, applied)?.1)
}

/// Stores what has been proposed; gives its number, or `None` where another process was there first.
pub(crate) async fn apply(
    source: &Source,
    window: Window,
    proposal: &Proposal,
    by: &str,
    unless_since: Option<SystemTime>,
) -> anyhow::Result<Option<u64>> {
    let app = proposal.app.as_str();
    let new = New { app, window, values: &proposal.values, by, unless_since };
    Ok(calibration::apply(source, new).await?)
}
