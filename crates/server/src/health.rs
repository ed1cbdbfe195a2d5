//! `/livez`, `/readyz` and `/health`. None of them calls anything: a slow service elsewhere is no reason
//! to restart this one, and a database that is away is none to send users elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use domain::AppName;
use ledger::{Counts, OutboxCounts};
use pipeline::ModelTotals;
use search::Generation;
use serde::Serialize;

use crate::service::Service;
use crate::surroundings::{UpstreamState, VectorsState};

/// Rows reach Postgres within a second or so; an outbox that takes so long without a failure is behind.
const LAGGING: Duration = Duration::from_secs(30);

#[derive(Serialize)]
struct Health {
    status: &'static str,
    version: &'static str,
    apps: Vec<AppState>,
    models: ModelHealth,
    upstreams: Vec<UpstreamHealth>,
    vectors: VectorsHealth,
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

/// An app and what answers for it.
#[derive(Serialize)]
pub(crate) struct AppState {
    pub(crate) app: String,
    /// `null`: nothing has been published.
    pub(crate) generation: Option<u64>,
    pub(crate) articles: Option<u64>,
    pub(crate) passages: Option<u64>,
    embedder: Option<String>,
    /// 0: the configuration.
    pub(crate) calibration: Option<u64>,
}

#[derive(Serialize)]
struct UpstreamHealth {
    name: String,
    /// `closed`, or why calls are refused.
    breaker: &'static str,
    calls: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct VectorsHealth {
    /// `embedded`, or the service.
    r#in: &'static str,
    /// `ok`, `away`, or `unknown` before the first look.
    state: &'static str,
    looked_ms_ago: Option<u64>,
    error: Option<String>,
}

#[derive(Serialize)]
struct LedgerHealth {
    /// `ok`, or `failing` while the disk takes nothing.
    state: &'static str,
    queued: u64,
    written: u64,
    dropped: u64,
    /// `null` without a Postgres.
    outbox: Option<OutboxHealth>,
}

#[derive(Serialize)]
struct OutboxHealth {
    /// `ok`, `lagging`, or `away` while Postgres takes nothing.
    state: &'static str,
    depth: u64,
    lag_ms: u64,
    shipped: u64,
    expired: u64,
    refused: u64,
    overflowed: u64,
    failures: u64,
    /// Why the last try failed, while it is away.
    error: Option<String>,
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
    let upstreams = service.surroundings.upstreams();
    let health = Health {
        status: if service.is_ready() { "ok" } else { "not_ready" },
        version: env!("CARGO_PKG_VERSION"),
        apps: service.apps(),
        models: ModelHealth::of(service.pipeline.model_totals()),
        upstreams: upstreams.into_iter().map(UpstreamHealth::of).collect(),
        vectors: VectorsHealth::of(service.surroundings.vectors()),
        ledger: LedgerHealth::of(service.recorder.counts(), service.recorder.outbox_error()),
    };
    Json(health).into_response()
}

impl Service {
    /// Every app that is known here.
    pub(crate) fn apps(&self) -> Vec<AppState> {
        let apps = self.knowledge.overview().into_iter();
        apps.map(|(app, generation)| self.app_state(&app, generation.as_deref())).collect()
    }

    fn app_state(&self, app: &AppName, generation: Option<&Generation>) -> AppState {
        let shares = &self.settings.shares;
        let calibration =
            |generation| shares.allotted(app, generation, SystemTime::now()).calibration;
        AppState {
            app: app.to_string(),
            generation: generation.map(|generation| generation.id().number),
            articles: generation.map(Generation::articles),
            passages: generation.map(|generation| generation.keyword().passage_count()),
            embedder: generation.map(|generation| generation.embedder().to_string()),
            calibration: generation.map(calibration),
        }
    }
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

impl UpstreamHealth {
    fn of(UpstreamState { name, breaker, calls }: UpstreamState) -> Self {
        Self { name, breaker, calls }
    }
}

impl VectorsHealth {
    fn of(vectors: VectorsState) -> Self {
        let (name, look) = match vectors {
            VectorsState::Embedded => return Self::is("embedded", "ok"),
            VectorsState::Service { name, look } => (name, look),
        };
        let Some(look) = look else { return Self::is(name, "unknown") };
        Self {
            looked_ms_ago: Some(whole_ms(look.age)),
            error: look.error.clone(),
            ..Self::is(name, if look.error.is_none() { "ok" } else { "away" })
        }
    }

    fn is(name: &'static str, state: &'static str) -> Self {
        Self { r#in: name, state, looked_ms_ago: None, error: None }
    }
}

impl LedgerHealth {
    fn of(counts: Counts, outbox_error: Option<String>) -> Self {
        Self {
            state: if counts.failures == 0 { "ok" } else { "failing" },
            queued: counts.queued,
            written: counts.written,
            dropped: counts.dropped,
            outbox: counts.outbox.map(|outbox| OutboxHealth::of(outbox, outbox_error)),
        }
    }
}

impl OutboxHealth {
    fn of(outbox: OutboxCounts, error: Option<String>) -> Self {
        let state = match outbox {
            OutboxCounts { failures: 1.., .. } => "away",
            OutboxCounts { lag, .. } if lag > LAGGING => "lagging",
            _ => "ok",
        };
        Self {
            state,
            depth: outbox.depth,
            lag_ms: whole_ms(outbox.lag),
            shipped: outbox.shipped,
            expired: outbox.expired,
            refused: outbox.refused,
            overflowed: outbox.overflowed,
            failures: outbox.failures,
            error,
        }
    }
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outbox_is_away_lagging_or_ok() {
        let of = |failures, lag| {
            let lag = Duration::from_secs(lag);
            OutboxHealth::of(OutboxCounts { failures, lag, ..OutboxCounts::default() }, None).state
        };
        assert_eq!([of(0, 0), of(0, 30), of(0, 31), of(1, 0)], ["ok", "ok", "lagging", "away"]);
    }

    #[test]
    fn vectors_are_unknown_until_somebody_looked() {
        let of = |look| VectorsHealth::of(VectorsState::Service { name: "qdrant", look }).state;
        let look = |error: Option<&str>| {
            Some(crate::Look { age: Duration::ZERO, error: error.map(str::to_owned) })
        };
        assert_eq!([of(None), of(look(None)), of(look(Some("gone")))], ["unknown", "ok", "away"]);
        assert_eq!(VectorsHealth::of(VectorsState::Embedded).state, "ok");
    }
}
