//! Loading published generations, at the start and as they come.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use catalog::{Catalog, Published};
use deadline::CpuPool;
use ingest::DataDir;
use search::Generation;
use server::Knowledge;

/// How often the catalog is asked for something newer.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Follows one data directory's catalog.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    pub(crate) data: DataDir,
    pub(crate) catalog: Catalog,
    pub(crate) pool: CpuPool,
    pub(crate) knowledge: Arc<Knowledge>,
}

/// Opens one published generation, off the runtime's threads.
pub(crate) async fn open(
    data: &DataDir,
    published: &Published,
    pool: CpuPool,
) -> anyhow::Result<Generation> {
    let folder = data.generation(&published.id.app, published.id.number);
    let Published { id, recipe, articles, .. } = published.clone();
    let opened = tokio::task::spawn_blocking(move || {
        Generation::open(&folder, id, recipe.embedder, articles, pool)
    });
    opened.await?.with_context(|| {
        format!("generation {} of app {} does not open", published.id.number, published.id.app)
    })
}

/// The catalog of a data directory that must have been indexed into.
pub(crate) async fn open_catalog(data_dir: &Path) -> anyhow::Result<(DataDir, Catalog)> {
    let data = DataDir::new(data_dir);
    let catalog = Catalog::open_existing(&data.catalog()).await?;
    Ok((data, catalog))
}

impl Follower {
    /// Loads whatever is newer than what is in use. One app's broken index leaves the others alone.
    pub(crate) async fn catch_up(&self) -> anyhow::Result<()> {
        let in_use = self.knowledge.overview();
        for published in self.catalog.newest().await? {
            let id = &published.id;
            let current = in_use.iter().find(|(app, _)| *app == id.app);
            let number = current.and_then(|(_, generation)| Some(generation.as_ref()?.id().number));
            if number.is_some_and(|number| number >= id.number) {
                continue;
            }
            match open(&self.data, &published, self.pool.clone()).await {
                Ok(generation) => {
                    self.knowledge.publish(Arc::new(generation));
                    tracing::info!(app = %id.app, generation = id.number, "a generation is loaded");
                }
                Err(error) => {
                    self.knowledge.announce(id.app.clone());
                    tracing::error!(error = format!("{error:#}"), "a generation cannot be loaded");
                }
            }
        }
        Ok(())
    }

    /// Catches up again and again; ends when dropped.
    pub(crate) async fn follow(self) -> Infallible {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if let Err(error) = self.catch_up().await {
                tracing::warn!(error = format!("{error:#}"), "the catalog cannot be read");
            }
        }
    }
}
