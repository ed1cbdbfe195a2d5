//! `kiwari serve`.

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use catalog::Catalog;
use deadline::{CancelFlag, Deadline};
use domain::{Call, Filter, Role};
use ingest::DataDir;
use ledger::{Ledger, Recorder};
use search::KeywordRequest;
use server::{Knowledge, Service, Settings};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::compose::Engine;
use crate::config::Config;
use crate::follow::Follower;
use crate::logging;

/// How long the latency log may take to be written to its end.
const LAST_ROWS: Duration = Duration::from_secs(5);
/// How long warming up may take before the server goes on without.
const WARM_UP: Duration = Duration::from_secs(10);

pub(crate) async fn run(config: &Config) -> anyhow::Result<ExitCode> {
    let _log = logging::start(config.log_format);
    let listener = server::bind(config.bind, config.public).await?;
    let engine = Engine::load()?;
    let data = DataDir::new(&config.data_dir);
    serve(config, &engine, data, listener).await?;
    Ok(ExitCode::SUCCESS)
}

/// Serves `data` on `listener` until the process is told to stop.
pub(crate) async fn serve(
    config: &Config,
    engine: &Engine,
    data: DataDir,
    listener: TcpListener,
) -> anyhow::Result<()> {
    let stop = stop_signal()?;
    data.create()?;
    let catalog = Catalog::open(&data.catalog()).await?;
    let ledger = start_ledger(&data).await;
    let recorder = ledger.as_ref().map_or_else(Recorder::without_log, Ledger::recorder);
    let knowledge = Arc::new(Knowledge::default());
    config.allotments.keys().for_each(|app| knowledge.announce(app.clone()));
    let mut follower =
        Follower::new(data, catalog.clone(), engine.pool.clone(), Arc::clone(&knowledge));
    follower.catch_up().await?;
    warm_up(engine, &knowledge).await;

    let settings = Settings {
        allotment: config.allotment,
        allotments: config.allotments.clone(),
        search_allotment: config.search_allotment,
        question: config.question,
        top_k: config.top_k,
        trust_envoy: config.trust_envoy,
    };
    let service =
        Service::new(engine.pipeline(), knowledge, recorder, engine.pool.clone(), settings);
    tracing::info!(address = %listener.local_addr()?, "listening");
    let serving = server::serve(listener, Arc::new(service), stop);
    let served = tokio::select! {
        served = serving => served,
        never = follower.follow() => match never {},
    };
    if let Some(ledger) = ledger {
        ledger.close(Deadline::after(LAST_ROWS)).await;
    }
    catalog.close().await;
    tracing::info!("stopped");
    Ok(served?)
}

/// Telemetry is what gives way: without its log, the server still answers.
async fn start_ledger(data: &DataDir) -> Option<Ledger> {
    Ledger::start(&data.ledger(), ledger::Settings::STANDARD)
        .await
        .inspect_err(|error| {
            tracing::error!(
                error = error as &dyn std::error::Error,
                "serving without a latency log; every row is counted as dropped"
            );
        })
        .ok()
}

/// The first question of the morning should not be the slow one.
async fn warm_up(engine: &Engine, knowledge: &Knowledge) {
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
    let warmed = engine.embedder.embed(&text, Role::Query, &call).await;
    if let Err(fault) = warmed {
        tracing::warn!(error = &fault as &dyn std::error::Error, "the embedder did not warm up");
    }
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
