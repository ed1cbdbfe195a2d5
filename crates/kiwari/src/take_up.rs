//! Taking up a published generation: building this host's copy if need be, opening it, looking whether its vectors
//! are there.

use std::time::Duration;

use anyhow::Context;
use catalog::Published;
use deadline::Deadline;
use ingest::{IngestError, Stores, build_copy};
use search::Generation;

use crate::compose::Engine;

/// How long building a copy may take, waiting for another process that builds it included.
const BUILD: Duration = Duration::from_secs(1800);
/// How often that process is waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Opens one published generation, which is built first where it has not been.
pub(crate) async fn open(
    stores: &Stores,
    published: &Published,
    engine: &Engine,
) -> anyhow::Result<Generation> {
    let Published { id, .. } = published;
    let opened = match open_here(stores, published, engine).await {
        Err(error) if stores.is_shared() => {
            tracing::info!(app = %id.app, generation = id.number, why = %error, "building a copy");
            let building = build_and_open(stores, published, engine);
            Deadline::after(BUILD).run(building).await.context("building a copy took too long")?
        }
        other => other,
    };
    opened.with_context(|| {
        let mend =
            if stores.is_shared() { "it is tried again" } else { "`kiwari index` builds it anew" };
        format!("generation {} of app {} does not open; {mend}", id.number, id.app)
    })
}

async fn build_and_open(
    stores: &Stores,
    published: &Published,
    engine: &Engine,
) -> Result<Generation, IngestError> {
    loop {
        match build_copy(stores, published).await {
            Ok(()) => return open_here(stores, published, engine).await,
            Err(IngestError::Building { .. }) => {}
            Err(error) => return Err(error),
        }
        tokio::time::sleep(LOOK_AGAIN).await;
        if let Ok(opened) = open_here(stores, published, engine).await {
            return Ok(opened);
        }
    }
}

/// Opens what lies on this host, off the runtime's threads.
pub(crate) async fn open_here(
    stores: &Stores,
    published: &Published,
    engine: &Engine,
) -> Result<Generation, IngestError> {
    let embedding = engine.embedder_of(&published.recipe.embedder);
    let (stores, published, pool) = (stores.clone(), published.clone(), engine.pool.clone());
    let opening = tokio::task::spawn_blocking(move || ingest::open(&stores, &published, pool));
    let opened = opening.await.map_err(|error| IngestError::Stopped(error.to_string()))??;
    Ok(engine.delayed(opened.with_embedding(embedding)))
}
