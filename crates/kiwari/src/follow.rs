//! Loading published generations, at the start and as they come.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use catalog::{Catalog, Published};
use domain::{AppName, GenerationId};
use ingest::DataDir;
use search::Generation;
use server::Knowledge;
use tokio::time::Instant;

use crate::compose::Engine;

/// How often the catalog is asked for something newer.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a generation that did not open is left alone.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// Follows one data directory's catalog.
#[derive(Debug)]
pub(crate) struct Follower {
    data: DataDir,
    catalog: Catalog,
    engine: Engine,
    knowledge: Arc<Knowledge>,
    /// The generations that did not open, and when that was.
    failed: BTreeMap<AppName, (u64, Instant)>,
}

/// Opens one published generation, off the runtime's threads.
pub(crate) async fn open(
    data: &DataDir,
    published: &Published,
    engine: &Engine,
) -> anyhow::Result<Generation> {
    let folder = data.generation(&published.id.app, published.id.number);
    let Published { id, recipe, articles, .. } = published.clone();
    let (embedding, pool) = (engine.embedder_of(&recipe.embedder), engine.pool.clone());
    let opened = tokio::task::spawn_blocking(move || {
        Generation::open(&folder, id, recipe.embedder, articles, pool)
    });
    let opened = opened.await?.with_context(|| {
        format!(
            "generation {} of app {} does not open; `kiwari index` builds it anew",
            published.id.number, published.id.app
        )
    })?;
    Ok(engine.delayed(opened.with_embedding(embedding)))
}

/// The catalog of a data directory that must have been indexed into.
pub(crate) async fn open_catalog(data_dir: &Path) -> anyhow::Result<(DataDir, Catalog)> {
    let data = DataDir::new(data_dir);
    let catalog = Catalog::open_existing(&data.catalog()).await?;
    Ok((data, catalog))
}

impl Follower {
    pub(crate) fn new(
        data: DataDir,
        catalog: Catalog,
        engine: Engine,
        knowledge: Arc<Knowledge>,
    ) -> Self {
        Self { data, catalog, engine, knowledge, failed: BTreeMap::new() }
    }

    /// Loads whatever is newer than what is in use. One app's broken index leaves the others alone.
    pub(crate) async fn catch_up(&mut self) -> anyhow::Result<()> {
        for published in self.catalog.newest().await? {
            match published {
                Ok(published) if self.is_news(&published.id) => self.load(&published).await,
                Ok(_in_use) => {}
                Err(error) => {
                    let error = anyhow::Error::from(error);
                    tracing::error!(error = format!("{error:#}"), "an app cannot be loaded");
                }
            }
        }
        Ok(())
    }

    fn is_news(&self, id: &GenerationId) -> bool {
        let in_use = self.knowledge.overview();
        let current = in_use.iter().find(|(app, _)| *app == id.app);
        let number = current.and_then(|(_, generation)| Some(generation.as_ref()?.id().number));
        let failed_lately = self
            .failed
            .get(&id.app)
            .is_some_and(|(number, at)| *number == id.number && at.elapsed() < RETRY_AFTER);
        number.is_none_or(|number| number < id.number) && !failed_lately
    }

    async fn load(&mut self, published: &Published) {
        let id = &published.id;
        match open(&self.data, published, &self.engine).await {
            Ok(generation) => {
                self.failed.remove(&id.app);
                let embedder = generation.embedder().to_string();
                if generation.embedding().is_none() {
                    tracing::warn!(app = %id.app, embedder, "the embedder cannot be called here; keywords alone answer");
                }
                self.knowledge.publish(Arc::new(generation));
                tracing::info!(app = %id.app, generation = id.number, embedder, "a generation is loaded");
            }
            Err(error) => {
                self.failed.insert(id.app.clone(), (id.number, Instant::now()));
                self.knowledge.announce(id.app.clone());
                tracing::error!(error = format!("{error:#}"), "a generation cannot be loaded");
            }
        }
    }

    /// Catches up again and again; ends when dropped.
    pub(crate) async fn follow(mut self) -> Infallible {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if let Err(error) = self.catch_up().await {
                tracing::warn!(error = format!("{error:#}"), "the catalog cannot be read");
            }
        }
    }
}
