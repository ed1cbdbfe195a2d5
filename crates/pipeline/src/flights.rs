//! [`Flights`]: the calls under way. Dropping one abandons it.

use std::future::pending;
use std::sync::Arc;

use deadline::{CancelFlag, CpuPool, Deadline};
use domain::{Call, Delta, DeltaStream, Embedder, Fault, FaultKind, Filter, Role, Stage, Vector};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use search::{Generation, KeywordHits, KeywordRequest, VectorHit};
use thiserror::Error;
use tokio::time::{Instant, sleep_until};

/// Something that the driver waits for.
#[derive(Debug)]
pub(crate) enum Event {
    Keyword(Result<KeywordHits, Fault>),
    Embed(Result<Vector, Fault>),
    Vector(Result<Vec<VectorHit>, Fault>),
    /// From the stream of this call of a model; `None`: it ended.
    Generate(u32, Option<Result<Delta, Fault>>),
    /// The moment waited for has come.
    Time,
}

/// At most one call per stage, and two of models.
#[derive(Default)]
pub(crate) struct Flights {
    keyword: Option<BoxFuture<'static, Result<KeywordHits, Fault>>>,
    embed: Option<BoxFuture<'static, Result<Vector, Fault>>>,
    vector: Option<BoxFuture<'static, Result<Vec<VectorHit>, Fault>>>,
    writers: [Option<(u32, DeltaStream)>; 2],
}

/// An index of so many passages answers in less than [`deadline::BRIEF`].
const BRIEFLY_SEARCHED: u64 = 2_000;

/// A search as the keyword index and the vector index both need it.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) generation: Arc<Generation>,
    pub(crate) pool: CpuPool,
    pub(crate) text: String,
    pub(crate) filter: Filter,
    pub(crate) k: usize,
    pub(crate) last_word_is_prefix: bool,
}

/// An embedder broke its promise of one vector per text.
#[derive(Debug, Error)]
#[error("the embedder gave {found} vectors for one text")]
struct VectorCount {
    found: usize,
}

impl Flights {
    pub(crate) fn start_keyword(&mut self, query: Query, deadline: Deadline) {
        self.keyword = Some(Box::pin(keyword(query, deadline)));
    }

    pub(crate) fn start_embed(&mut self, embedder: Arc<dyn Embedder>, text: String, call: Call) {
        self.embed = Some(Box::pin(embed(embedder, text, call)));
    }

    pub(crate) fn start_vector(&mut self, query: Query, vector: Vector, call: Call) {
        self.vector = Some(Box::pin(nearest(query, vector, call)));
    }

    /// Starts call `attempt` of a model, beside one that is under way. Of two, the older one is abandoned.
    pub(crate) fn start_generate(&mut self, attempt: u32, stream: DeltaStream) {
        let [older, newer] = &mut self.writers;
        if newer.is_some() {
            *older = newer.take();
        }
        *newer = Some((attempt, stream));
    }

    /// Abandons call `attempt` of a model.
    pub(crate) fn abandon_writer(&mut self, attempt: u32) {
        for writer in &mut self.writers {
            if writer.as_ref().is_some_and(|(writing, _)| *writing == attempt) {
                *writer = None;
            }
        }
    }

    /// Abandons the call of `stage`, if one is under way.
    pub(crate) fn abandon(&mut self, stage: Stage) {
        match stage {
            Stage::Keyword => self.keyword = None,
            Stage::Embed => self.embed = None,
            Stage::Vector => self.vector = None,
            Stage::Generate => self.writers = [None, None],
            Stage::Normalize | Stage::Template => {}
        }
    }

    /// The next thing to happen, `until` at the latest. What has arrived goes before the clock.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: a call stays in its slot until its result has been returned.
    pub(crate) async fn next(&mut self, until: Instant) -> Event {
        let [older, newer] = &mut self.writers;
        tokio::select! {
            biased;
            // The others are on their way before a keyword search takes this thread.
            result = landed(&mut self.embed) => Event::Embed(result),
            result = landed(&mut self.vector) => Event::Vector(result),
            result = landed(&mut self.keyword) => Event::Keyword(result),
            (attempt, delta) = next_delta(newer) => Event::Generate(attempt, delta),
            (attempt, delta) = next_delta(older) => Event::Generate(attempt, delta),
            () = sleep_until(until) => Event::Time,
        }
    }
}

/// The result of the call in `slot`, which it empties; an empty slot never lands.
async fn landed<T>(slot: &mut Option<BoxFuture<'static, T>>) -> T {
    match slot {
        Some(flight) => {
            let result = flight.await;
            *slot = None;
            result
        }
        None => pending().await,
    }
}

async fn next_delta(slot: &mut Option<(u32, DeltaStream)>) -> (u32, Option<Result<Delta, Fault>>) {
    match slot {
        Some((attempt, stream)) => (*attempt, stream.next().await),
        None => pending().await,
    }
}

async fn keyword(query: Query, deadline: Deadline) -> Result<KeywordHits, Fault> {
    let pool = query.pool.clone();
    let brief = query.generation.keyword().passage_count() <= BRIEFLY_SEARCHED;
    let search = move |cancel: &CancelFlag| {
        let request = KeywordRequest {
            text: &query.text,
            filter: &query.filter,
            k: query.k,
            last_word_is_prefix: query.last_word_is_prefix,
        };
        query.generation.keyword().search(&request, cancel)
    };
    let found = if brief {
        pool.run_brief(deadline, search).await?
    } else {
        pool.run(deadline, search).await?
    };
    found.map_err(|error| Fault::new(FaultKind::Error, error))
}

async fn embed(embedder: Arc<dyn Embedder>, text: String, call: Call) -> Result<Vector, Fault> {
    let mut vectors = embedder.embed(&[text], Role::Query, &call).await?;
    match (vectors.pop(), vectors.len()) {
        (Some(vector), 0) => Ok(vector),
        (last, others) => {
            let found = others + usize::from(last.is_some());
            Err(Fault::new(FaultKind::Error, VectorCount { found }))
        }
    }
}

/// Neighbours with their passages, which the generation's keyword index stores.
async fn nearest(query: Query, vector: Vector, call: Call) -> Result<Vec<VectorHit>, Fault> {
    let Query { generation, pool, filter, k, .. } = query;
    let neighbours =
        generation.vectors().nearest(generation.id(), &vector, &filter, k, &call).await?;
    let resolve = move |_: &CancelFlag| generation.resolve(&neighbours);
    pool.run_brief(call.deadline, resolve)
        .await?
        .map_err(|error| Fault::new(FaultKind::Error, error))
}
