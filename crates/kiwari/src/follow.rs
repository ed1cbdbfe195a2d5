//! Loading published generations, at the start and as they come.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use catalog::{CatalogError, Published};
use deadline::Deadline;
use domain::{AppName, Causes, GenerationId};
use ingest::{Stores, copies, vectors_are_complete};
use search::Generation;
use server::Knowledge;
use tokio::time::Instant;

use crate::compose::Engine;
use crate::replica::Replica;
use crate::take_up;

/// How often the catalog is asked for something newer.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a generation that did not open is left alone.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// The same, where the catalog or Qdrant may be to blame, which come back.
const RETRY_SHARED_AFTER: Duration = Duration::from_secs(5);

/// How long a start waits for a catalog on another host, and the copies to be built from it, with nothing to serve
/// meanwhile.
const FIRST_LOOK: Duration = Duration::from_secs(10);
/// How long a start waits for the catalog's word on a copy that lies here.
const RECORD: Duration = Duration::from_secs(2);
/// How long Qdrant may take to count a new generation's vectors before that is taken up uncounted.
const COUNT: Duration = Duration::from_secs(5);

/// Follows one catalog.
#[derive(Debug)]
pub(crate) struct Follower {
    stores: Stores,
    engine: Engine,
    knowledge: Arc<Knowledge>,
    replica: Option<Replica>,
    /// The generations that did not open, and when that was.
    failed: BTreeMap<AppName, (u64, Instant)>,
    /// Whether the catalog could not be asked the last time, which is said once.
    is_cut_off: bool,
}

impl Follower {
    pub(crate) fn new(
        stores: Stores,
        engine: Engine,
        knowledge: Arc<Knowledge>,
        replica: Option<Replica>,
    ) -> Self {
        let failed = BTreeMap::new();
        Self { stores, engine, knowledge, replica, failed, is_cut_off: false }
    }

    /// Loads what there is to start with. A catalog that is a file has to be readable. One on another host may be
    /// away, and Qdrant too: then what lies on this one is served.
    pub(crate) async fn start(&mut self) -> anyhow::Result<()> {
        if !self.stores.is_shared() {
            return Ok(self.catch_up().await?);
        }
        for published in copies(&self.stores.data) {
            if self.may_be_on_record(&published).await {
                self.load(&published).await;
            }
        }
        if !self.knowledge.overview().iter().any(|(_, generation)| generation.is_some()) {
            // What is not ready by then is followed up.
            let _too_slow = Deadline::after(FIRST_LOOK).run(self.look()).await;
        }
        Ok(())
    }

    /// Whether the catalog knows of just this generation, or cannot be asked. Another database may have taken the
    /// place of the one that a copy was made from.
    async fn may_be_on_record(&mut self, copy: &Published) -> bool {
        if self.is_cut_off {
            return true;
        }
        let asking = self.stores.catalog.since(&copy.id.app, copy.id.number);
        match Deadline::after(RECORD).run(asking).await {
            Ok(Ok(published)) => published.first() == Some(copy),
            Ok(Err(_)) | Err(_) => {
                self.is_cut_off = true;
                tracing::warn!("the catalog cannot be read; serving what lies here");
                true
            }
        }
    }

    /// Loads whatever is newer than what is in use. One app's broken index leaves the others alone.
    async fn catch_up(&mut self) -> Result<(), CatalogError> {
        for published in self.stores.catalog.newest().await? {
            match published {
                Ok(published) if self.is_news(&published.id) => {
                    if let Some(replica) = &self.replica {
                        replica.expect(&published.id.app, published.id.number).await;
                    }
                    self.load(&published).await;
                }
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
        let retry = if self.stores.is_shared() || self.stores.qdrant.is_some() {
            RETRY_SHARED_AFTER
        } else {
            RETRY_AFTER
        };
        let failed = self.failed.get(&id.app);
        let failed_lately =
            failed.is_some_and(|(number, at)| *number == id.number && at.elapsed() < retry);
        self.in_use(&id.app).is_none_or(|number| number < id.number) && !failed_lately
    }

    /// The number of the generation that `app` is answered from.
    fn in_use(&self, app: &AppName) -> Option<u64> {
        let in_use = self.knowledge.overview();
        let current = in_use.iter().find(|(name, _)| name == app);
        current.and_then(|(_, generation)| Some(generation.as_ref()?.id().number))
    }

    async fn load(&mut self, published: &Published) {
        let id = &published.id;
        match take_up::open(&self.stores, published, &self.engine).await {
            Ok(generation) if self.may_be_used(published).await => self.publish(generation),
            Ok(_incomplete) => self.put_off(id),
            Err(error) => {
                self.put_off(id);
                tracing::error!(error = format!("{error:#}"), "a generation cannot be loaded");
            }
        }
    }

    fn put_off(&mut self, id: &GenerationId) {
        self.failed.insert(id.app.clone(), (id.number, Instant::now()));
        self.knowledge.announce(id.app.clone());
    }

    /// Whether its vectors are all there, or nobody can say, or there is nothing better to answer from.
    async fn may_be_used(&self, published: &Published) -> bool {
        let (app, generation) = (&published.id.app, published.id.number);
        match vectors_are_complete(&self.stores, published, COUNT).await {
            Ok(true) => true,
            Ok(false) => {
                tracing::error!(%app, generation, "vectors are missing; `kiwari index` writes them anew");
                self.in_use(app).is_none()
            }
            Err(error) => {
                let error = Causes(&error);
                tracing::warn!(%app, generation, %error, "the vectors cannot be counted for now");
                true
            }
        }
    }

    fn publish(&mut self, generation: Generation) {
        let id = generation.id().clone();
        self.failed.remove(&id.app);
        let embedder = generation.embedder().to_string();
        if generation.embedding().is_none() {
            tracing::warn!(app = %id.app, embedder, "the embedder cannot be called here; keywords alone answer");
        }
        self.knowledge.publish(Arc::new(generation));
        if let Some(replica) = &self.replica {
            replica.took_up(&id.app, id.number);
        }
        tracing::info!(app = %id.app, generation = id.number, embedder, "a generation is loaded");
    }

    /// Catches up; a catalog that cannot be asked is said to be so once, and that it is back.
    async fn look(&mut self) {
        match self.catch_up().await {
            Ok(()) if self.is_cut_off => {
                self.is_cut_off = false;
                tracing::info!("the catalog can be read again");
            }
            Ok(()) => {}
            Err(_) if self.is_cut_off => {}
            Err(error) => {
                self.is_cut_off = true;
                let error = format!("{:#}", anyhow::Error::from(error));
                tracing::warn!(error, "the catalog cannot be read; what is loaded stays");
            }
        }
    }

    /// Catches up again and again; ends when dropped.
    pub(crate) async fn follow(mut self) -> Infallible {
        loop {
            self.look().await;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}
