//! `/livez`, `/readyz` and `/health`. None of them calls anything: a slow service elsewhere is no reason
//! to restart this one.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use pipeline::ModelTotals;
use serde::Serialize;

use crate::service::Service;

#[derive(Serialize)]
struct Health {
    status: &'static str,
    version: &'static str,
    apps: Vec<AppHealth>,
    models: ModelHealth,
    ledger: LedgerHealth,
}

/// Calls of models since the start, and their tokens as far as providers have told us of them.
#[derive(Serialize)]
struct ModelHealth {
    calls: u64,
    replaced: u64,
    lost: u64,
    abandoned: u64,
    input_tokens: u64,
    output_tokens: u64,
    wasted_input_tokens: u64,
    wasted_output_tokens: u64,
}

#[derive(Serialize)]
struct AppHealth {
    app: String,
    /// `null`: nothing has been published.
    generation: Option<u64>,
    articles: Option<u64>,
    passages: Option<u64>,
    embedder: Option<String>,
}

#[derive(Serialize)]
struct LedgerHealth {
    queued: u64,
    written: u64,
    dropped: u64,
}

impl ModelHealth {
    fn of(totals: ModelTotals) -> Self {
        Self {
            calls: totals.calls,
            replaced: totals.replaced,
            lost: totals.lost,
            abandoned: totals.abandoned,
            input_tokens: totals.input_tokens,
            output_tokens: totals.output_tokens,
            wasted_input_tokens: totals.wasted_input_tokens,
            wasted_output_tokens: totals.wasted_output_tokens,
        }
    }
}

/// The process runs.
pub(crate) async fn livez() -> &'static str {
    "ok\n"
}

/// It can answer: some generation is loaded, and it is not on its way out.
pub(crate) async fn readyz(State(service): State<Arc<Service>>) -> Response {
    if service.is_draining() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n").into_response()
    } else if service.knowledge.any_loaded() {
        "ready\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "no generation is loaded\n").into_response()
    }
}

/// What there is, for people.
pub(crate) async fn health(State(service): State<Arc<Service>>) -> Response {
    let apps = service.knowledge.overview().into_iter().map(|(app, generation)| {
        let generation = generation.as_deref();
        AppHealth {
            app: app.to_string(),
            generation: generation.map(|g| g.id().number),
            articles: generation.map(search::Generation::articles),
            passages: generation.map(|g| g.keyword().passage_count()),
            embedder: generation.map(|g| g.embedder().to_string()),
        }
    });
    let counts = service.recorder.counts();
    let ready = service.knowledge.any_loaded() && !service.is_draining();
    let health = Health {
        status: if ready { "ok" } else { "not_ready" },
        version: env!("CARGO_PKG_VERSION"),
        apps: apps.collect(),
        models: ModelHealth::of(service.pipeline.model_totals()),
        ledger: LedgerHealth {
            queued: counts.queued,
            written: counts.written,
            dropped: counts.dropped,
        },
    };
    Json(health).into_response()
}
