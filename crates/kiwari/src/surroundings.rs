//! [`Around`]: how the model APIs and Qdrant are, for `/health` and `/metrics`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadline::Deadline;
use domain::Call;
use qdrant::Qdrant;
use server::{Look, Surroundings, UpstreamState, VectorsState};
use tokio::time::{Instant, sleep};
use upstream::{BreakerState, Upstream};

use crate::models::Apis;

/// How often Qdrant is asked how it is, and how long it may take to say.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(2);

/// What a server calls. Upstreams are judged by the calls that requests make; Qdrant is looked at in between.
#[derive(Debug)]
pub(crate) struct Around {
    apis: Apis,
    qdrant: Option<Qdrant>,
    last: Mutex<Option<Seen>>,
}

#[derive(Clone, Debug)]
struct Seen {
    at: Instant,
    error: Option<String>,
}

impl Around {
    pub(crate) fn new(apis: Apis, qdrant: Option<Qdrant>) -> Self {
        Self { apis, qdrant, last: Mutex::default() }
    }

    /// Looks at Qdrant every few seconds, where there is one; ends when dropped.
    pub(crate) async fn look_again_and_again(&self) -> Infallible {
        let Some(qdrant) = &self.qdrant else { return pending().await };
        loop {
            let call = Call::background("health", Deadline::after(PATIENCE));
            let error = qdrant.health(&call).await.err().map(|error| error.to_string());
            *self.last() = Some(Seen { at: Instant::now(), error });
            sleep(LOOK_EVERY).await;
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Seen>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Surroundings for Around {
    fn upstreams(&self) -> Vec<UpstreamState> {
        self.apis.upstreams().iter().map(|upstream| state(upstream)).collect()
    }

    fn vectors(&self) -> VectorsState {
        if self.qdrant.is_none() {
            return VectorsState::Embedded;
        }
        let look = self.last().clone();
        let look = look.map(|seen| Look { age: seen.at.elapsed(), error: seen.error });
        VectorsState::Service { name: "qdrant", look }
    }
}

fn state(upstream: &Upstream) -> UpstreamState {
    let counts = upstream.counts();
    let mut calls = BTreeMap::from([
        ("succeeded", counts.succeeded),
        ("abandoned", counts.abandoned),
        ("refused", counts.refused),
    ]);
    for (kind, count) in &counts.failed {
        *calls.entry(kind.reason().as_str()).or_default() += *count;
    }
    let breaker = match upstream.breaker_state() {
        BreakerState::Closed => "closed",
        BreakerState::Open(cause) => cause.as_str(),
    };
    UpstreamState { name: upstream.name().to_owned(), breaker, calls }
}
