//! Loading published generations, at the start and as they come.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use catalog::{CatalogError, Published, VectorHome};
use deadline::Deadline;
use domain::{AppName, Causes};
use ingest::{Stores, copies, vectors_are_complete};
use search::Generation;
use server::Knowledge;
use tokio::time::Instant;

use crate::compose::Engine;
use crate::replica::Replica;
use crate::take_up;
use crate::taken_up::TakenUp;

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
    taken_up: TakenUp,
    /// The generations that did not open, and when that was.
    failed: BTreeMap<AppName, (Published, Instant)>,
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
        let (taken_up, failed) = (TakenUp::default(), BTreeMap::new());
        Self { stores, engine, knowledge, replica, taken_up, failed, is_cut_off: false }
    }

    /// What is answered from, now and later.
    pub(crate) fn taken_up(&self) -> TakenUp {
        self.taken_up.clone()
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
        let is_on_record = self.is_on_record(copy).await;
        if is_on_record.is_none() {
            self.is_cut_off = true;
            tracing::warn!("the catalog cannot be read; serving what lies here");
        }
        is_on_record.unwrap_or(true)
    }

    /// Whether the catalog has just this generation; `None` if it cannot be asked.
    async fn is_on_record(&self, published: &Published) -> Option<bool> {
        let id = &published.id;
        let asking = self.stores.catalog.since(&id.app, id.number);
        let on_record = Deadline::after(RECORD).run(asking).await.ok()?.ok()?;
        Some(on_record.first() == Some(published))
    }

    /// Loads whatever is on record and not in use. One app's broken index leaves the others alone.
    async fn catch_up(&mut self) -> Result<(), CatalogError> {
        for published in self.stores.catalog.newest().await? {
            match published {
                Ok(published) if self.is_news(&published) => {
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

    /// Whether it is another one than is in use, of whatever number: one that is lower, or the same with other
    /// content, comes with a database that was replaced or restored.
    fn is_news(&self, published: &Published) -> bool {
        let app = &published.id.app;
        let retry = if self.stores.is_shared() || self.stores.qdrant.is_some() {
            RETRY_SHARED_AFTER
        } else {
            RETRY_AFTER
        };
        let failed = self.failed.get(app);
        let failed_lately =
            failed.is_some_and(|(failed, at)| failed == published && at.elapsed() < retry);
        self.taken_up.of(app).as_ref() != Some(published) && !failed_lately
    }

    /// Whether the catalog no longer has the generation that `app` is answered from. One that cannot be asked about
    /// it has it.
    async fn is_off_record(&self, app: &AppName) -> bool {
        match self.taken_up.of(app) {
            Some(in_use) => self.is_on_record(&in_use).await == Some(false),
            None => false,
        }
    }

    async fn load(&mut self, published: &Published) {
        let app = &published.id.app;
        let is_replaced = self.is_off_record(app).await;
        let is_all_there_is = is_replaced || self.taken_up.of(app).is_none();
        match take_up::open(&self.stores, published, &self.engine).await {
            Ok(generation) if self.may_be_used(published, is_all_there_is).await => {
                if is_replaced {
                    let (number, in_use) = (published.id.number, self.taken_up.of(app));
                    let in_use = in_use.map(|in_use| in_use.id.number);
                    tracing::warn!(
                        %app, generation = number, in_use,
                        "the database was replaced or restored: it does not know the generation in use"
                    );
                }
                self.publish(generation, published);
            }
            Ok(_incomplete) => self.put_off(published),
            Err(error) => {
                self.put_off(published);
                tracing::error!(error = format!("{error:#}"), "a generation cannot be loaded");
            }
        }
    }

    fn put_off(&mut self, published: &Published) {
        let app = &published.id.app;
        self.failed.insert(app.clone(), (published.clone(), Instant::now()));
        self.knowledge.announce(app.clone());
    }

    /// Whether its vectors are all there, or nobody can say, or there is nothing better to answer from.
    async fn may_be_used(&self, published: &Published, is_all_there_is: bool) -> bool {
        let (app, generation) = (&published.id.app, published.id.number);
        match vectors_are_complete(&self.stores, published, COUNT).await {
            Ok(true) => true,
            Ok(false) => {
                tracing::error!(%app, generation, "vectors are missing; `kiwari index` writes them anew");
                is_all_there_is
            }
            Err(error) => {
                let error = Causes(&error);
                tracing::warn!(%app, generation, %error, "the vectors cannot be counted for now");
                true
            }
        }
    }

    fn publish(&mut self, generation: Generation, published: &Published) {
        let id = &published.id;
        self.failed.remove(&id.app);
        self.taken_up.put(published);
        let embedder = generation.embedder().to_string();
        if generation.embedding().is_none() {
            tracing::warn!(app = %id.app, embedder, "the embedder cannot be called here; keywords alone answer");
        }
        self.knowledge.publish(Arc::new(self.guarded(generation, published)));
        if let Some(replica) = &self.replica {
            replica.took_up(&id.app, id.number);
        }
        tracing::info!(app = %id.app, generation = id.number, embedder, "a generation is loaded");
    }

    /// With vectors that others may sweep only while they know of this server.
    fn guarded(&self, generation: Generation, published: &Published) -> Generation {
        match &self.replica {
            Some(replica) if published.recipe.vectors == VectorHome::Qdrant => {
                generation.with_vectors(|vectors| replica.heard().guard(vectors))
            }
            _ => generation,
        }
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
