//! `kiwari serve`.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use deadline::{CancelFlag, Deadline};
use domain::{Call, Causes, Filter, Role};
use futures_util::future::join_all;
use ingest::{DataDir, Stores};
use ledger::reports::Source;
use ledger::{Ledger, PgSettings, Recorder};
use qdrant::Qdrant;
use search::KeywordRequest;
use server::{ConnectionLimits, Knowledge, Reports, Service, Settings};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::calibration::{self, Calibrations};
use crate::cli::Serve;
use crate::compose::Engine;
use crate::config::Config;
use crate::follow::Follower;
use crate::replica::Replica;
use crate::surroundings::Around;
use crate::{logging, stores};

/// How long the latency log may take to be written to its end.
const LAST_ROWS: Duration = Duration::from_secs(5);
/// How long connecting to the model APIs may hold up the start: an API that is down is no reason not to serve.
const CONNECT: Duration = Duration::from_secs(1);
/// How long warming up may take before the server goes on without.
const WARM_UP: Duration = Duration::from_secs(10);

pub(crate) async fn run(
    config: &Config,
    arguments: &Serve,
    database: Option<PgSettings>,
) -> anyhow::Result<ExitCode> {
    let delays = arguments.delay_vectors;
    let _log = logging::start(config.log_format);
    let listener = server::bind(config.bind, config.public).await?;
    let engine = Engine::load(config)?.with_delays(delays);
    let stores = stores::configured(config).await?;
    let database = database.map(|mut database| {
        database.migrate_at_start = config.migrate_at_start;
        config.ledger.shipped_to(database)
    });
    serve(config, &engine, stores, database, listener).await?;
    Ok(ExitCode::SUCCESS)
}

/// Serves what `stores` hold on `listener` until the process is told to stop.
pub(crate) async fn serve(
    config: &Config,
    engine: &Engine,
    stores: Stores,
    database: Option<PgSettings>,
    listener: TcpListener,
) -> anyhow::Result<()> {
    let stop = stop_signal()?;
    stores.data.create()?;
    let calibrating = database.clone();
    let ledger = start_ledger(config, &stores.data, database).await;
    let recorder = ledger.as_ref().map_or_else(Recorder::without_log, Ledger::recorder);
    let knowledge = Arc::new(Knowledge::default());
    config.shares.apps().for_each(|app| knowledge.announce(app.clone()));
    let replica = Replica::of(&stores, config.shares.longest());
    let mut follower =
        Follower::new(stores.clone(), engine.clone(), Arc::clone(&knowledge), replica.clone());
    follower.start().await?;
    warm_up(engine, &knowledge, stores.qdrant.as_ref()).await;

    let calibrations = Arc::new(Calibrations::new(engine.shares(), engine.models()));
    let settings = Settings {
        shares: Arc::<Calibrations>::clone(&calibrations),
        search_allotment: config.search_allotment,
        question: config.question,
        top_k: config.top_k,
        trust_envoy: config.trust_envoy,
        connections: ConnectionLimits::STANDARD,
    };
    let heard = replica.as_ref().map(|replica| replica.heard().clone());
    let around = Around::new(engine.apis.clone(), stores.clone(), follower.taken_up(), heard);
    let around = Arc::new(around);
    let service =
        Service::new(engine.pipeline(), knowledge, recorder, engine.pool.clone(), settings)
            .among(Arc::<Around>::clone(&around));
    let service = match config.operations {
        true => service.for_operators(reports(ledger.as_ref(), calibrating.as_ref())),
        false => service,
    };
    tracing::info!(address = %listener.local_addr()?, "listening");
    let serving = server::serve(listener, Arc::new(service), stop);
    let calibrated = calibration::live(config, &stores.data, &calibrations, calibrating.as_ref());
    let calibrated = Box::pin(calibrated);
    tokio::select! {
        () = serving => {}
        never = follower.follow() => match never {},
        never = live(replica.clone()) => match never {},
        never = calibrated => match never {},
        never = around.look_again_and_again() => match never {},
    }
    if let Some(replica) = replica {
        replica.leave().await;
    }
    if let Some(ledger) = ledger {
        ledger.close(Deadline::after(LAST_ROWS)).await;
    }
    stores.catalog.close().await;
    tracing::info!("stopped");
    Ok(())
}

/// Tells others what is answered from here, where there are any.
async fn live(replica: Option<Replica>) -> Infallible {
    match replica {
        Some(replica) => replica.live().await,
        None => pending().await,
    }
}

/// Telemetry is what gives way: without its log, the server still answers.
async fn start_ledger(
    config: &Config,
    data: &DataDir,
    database: Option<PgSettings>,
) -> Option<Ledger> {
    let settings = config.ledger.on_disk(database.is_some());
    Ledger::start(&data.ledger(), settings, database)
        .await
        .inspect_err(|error| {
            tracing::error!(
                error = %Causes(error),
                "serving without a latency log; every row is counted as dropped"
            );
        })
        .ok()
}

/// From Postgres where there is one; its rows pass through the local file only on their way there.
fn reports(ledger: Option<&Ledger>, database: Option<&PgSettings>) -> Reports {
    let from_disk = || ledger.map(|ledger| Source::Sqlite(ledger.store()));
    Reports::of(database.map(Source::postgres).or_else(from_disk))
}

/// The first question of the morning should not be the slow one.
async fn warm_up(engine: &Engine, knowledge: &Knowledge, qdrant: Option<&Qdrant>) {
    const QUESTION: &str = "How do I sign in? サインインするには？";
    for (_, generation) in knowledge.overview() {
        let Some(generation) = generation else { continue };
        let search = move |cancel: &CancelFlag| {
            let filter = Filter::default();
            let request = KeywordRequest {
                text: QUESTION,
                filter: &filter,
                k: 1,
                last_word_is_prefix: false,
            };
            // Only its side effects count: pages read, dictionaries loaded.
            let _found = generation.keyword().search(&request, cancel);
        };
        let _in_time = engine.pool.run(Deadline::after(WARM_UP), search).await;
    }
    let text = [QUESTION.to_owned()];
    let call = Call::background("warm-up", Deadline::after(WARM_UP));
    let warmed = engine.local.embed(&text, Role::Query, &call).await;
    if let Err(fault) = warmed {
        tracing::warn!(error = %Causes(&fault), "the embedder did not warm up");
    }
    let connecting = engine.apis.upstreams().into_iter().map(|upstream| async move {
        let call = Call::background("warm-up", Deadline::after(CONNECT));
        if let Err(fault) = upstream.warm(&call).await {
            let api = upstream.name();
            tracing::warn!(api, error = %Causes(&fault), "cannot be reached yet");
        }
    });
    let vectors = async {
        let Some(qdrant) = qdrant else { return };
        let call = Call::background("warm-up", Deadline::after(CONNECT));
        if let Err(error) = qdrant.health(&call).await {
            let error = Causes(&error);
            tracing::warn!(%error, "Qdrant cannot be reached yet");
        }
    };
    tokio::join!(join_all(connecting), vectors);
}

/// Ready once the process has been asked to stop.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stopping; requests under way are finished first");
    })
}
