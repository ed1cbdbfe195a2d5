//! [`Around`]: how the model APIs and Qdrant are, for `/health` and `/metrics`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use catalog::{Published, VectorHome};
use deadline::Deadline;
use domain::{Call, Causes};
use futures_util::future::{join_all, try_join_all};
use ingest::{Stores, vectors_are_complete};
use qdrant::{Qdrant, QdrantVectors};
use server::{Look, Surroundings, UpstreamState, VectorsState};
use tokio::time::{Instant, sleep};
use upstream::{BreakerState, Upstream};

use crate::heard::Heard;
use crate::models::Apis;
use crate::taken_up::TakenUp;

/// How often Qdrant is asked how it is, and how long it may take to say.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(2);

/// What a server calls. Upstreams are judged by the calls that requests make; Qdrant, and what
/// of it is in use, is looked at in between.
#[derive(Debug)]
pub(crate) struct Around {
    apis: Apis,
    stores: Stores,
    taken_up: TakenUp,
    heard: Option<Heard>,
    last: Mutex<Option<Seen>>,
}

#[derive(Clone, Debug)]
struct Seen {
    at: Instant,
    error: Option<String>,
}

impl Around {
    /// Of a server that answers from what `stores` hold and it has `taken_up`, and that others have `heard` of.
    pub(crate) fn new(apis: Apis, stores: Stores, taken_up: TakenUp, heard: Option<Heard>) -> Self {
        Self { apis, stores, taken_up, heard, last: Mutex::default() }
    }

    /// Looks at Qdrant every few seconds, where there is one; ends when dropped.
    pub(crate) async fn look_again_and_again(&self) -> Infallible {
        let Some(qdrant) = &self.stores.qdrant else { return pending().await };
        loop {
            let error = self.look(qdrant).await.err();
            *self.last() = Some(Seen { at: Instant::now(), error });
            self.count_if_silent().await;
            sleep(LOOK_EVERY).await;
        }
    }

    /// What is wrong with Qdrant, or with the collection of a generation in use.
    async fn look(&self, qdrant: &Qdrant) -> Result<(), String> {
        let call = Call::background("health", Deadline::after(PATIENCE));
        qdrant.health(&call).await.map_err(|error| error.to_string())?;
        let published = self.in_qdrant();
        let looks = published.iter().map(|published| self.look_at(published, &call));
        try_join_all(looks).await.map(drop)
    }

    async fn look_at(&self, published: &Published, call: &Call) -> Result<(), String> {
        let Published { id, recipe, passages, .. } = published;
        let Some(qdrant) = self.stores.qdrant_of(recipe) else { return Ok(()) };
        let index = QdrantVectors::new(&qdrant, id.clone(), &recipe.embedder, *passages);
        let looked = index.check_collection(call).await;
        looked.map_err(|error| {
            format!("generation {} of app {}: {}", id.number, id.app, Causes(&error))
        })
    }

    /// What nobody keeps for this server any more may still be there.
    async fn count_if_silent(&self) {
        let Some(heard) = self.heard.as_ref().filter(|heard| heard.is_silent()) else { return };
        let published = self.in_qdrant();
        let counts = published.iter().map(|one| vectors_are_complete(&self.stores, one, PATIENCE));
        if join_all(counts).await.iter().all(|count| matches!(count, Ok(true))) {
            heard.counted();
        }
    }

    /// The generations in use whose vectors lie in Qdrant.
    fn in_qdrant(&self) -> Vec<Published> {
        let mut taken_up = self.taken_up.all();
        taken_up.retain(|published| published.recipe.vectors == VectorHome::Qdrant);
        taken_up
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
        if self.stores.qdrant.is_none() {
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
