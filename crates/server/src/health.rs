//! `/livez`, `/readyz` and `/health`. None of them calls anything: a slow service elsewhere is no reason
//! to restart this one.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::service::Service;

#[derive(Serialize)]
struct Health {
    status: &'static str,
    version: &'static str,
    apps: Vec<AppHealth>,
    ledger: LedgerHealth,
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
        ledger: LedgerHealth {
            queued: counts.queued,
            written: counts.written,
            dropped: counts.dropped,
        },
    };
    Json(health).into_response()
}
