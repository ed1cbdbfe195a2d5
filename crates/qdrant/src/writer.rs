//! [`QdrantWriter`]: begins drafts, and tidies up behind them.

use deadline::Deadline;
use domain::{AppName, Call, GenerationId};
use qdrant_client::qdrant::alias_operations::Action;
use qdrant_client::qdrant::{AliasOperations, ChangeAliases, CreateAlias, ListCollectionsRequest};

use crate::collection::Collection;
use crate::filter::{begun_after, closed_after, closed_by};
use crate::point::OPEN;
use crate::steadily::steadily;
use crate::{Draft, Holdings, Qdrant, QdrantError};

/// Writes revisions.
///
/// Only one run may write an app at a time: whoever begins a draft holds a lock that all hosts know. The catalog says what is published; a
/// collection of an epoch that it does not know is taken for the leftovers of a killed run, so catalogs that share a
/// server each write to their own [part](Qdrant::of) of it.
#[derive(Clone, Debug)]
pub struct QdrantWriter {
    qdrant: Qdrant,
}

/// The revision to be written.
#[derive(Clone, Debug)]
pub struct Plan {
    pub next: GenerationId,
    /// The newest generation that the catalog calls published. Everything newer is leftovers.
    pub published: Option<GenerationId>,
    /// Of every vector.
    pub dimensions: u32,
}

impl QdrantWriter {
    /// Writes to `qdrant`.
    #[must_use]
    pub fn new(qdrant: &Qdrant) -> Self {
        Self { qdrant: qdrant.clone() }
    }

    /// Makes the collection ready for the planned revision: made anew in a new epoch, else cleared of what runs
    /// have left that were killed. No published revision changes.
    ///
    /// # Errors
    ///
    /// [`QdrantError`]; [`OtherShape`](QdrantError::OtherShape) asks for a new epoch.
    pub async fn draft(&self, plan: &Plan, call: &Call) -> Result<Draft, QdrantError> {
        plan.check()?;
        let collection = self.collection_of(&plan.next);
        let published = plan.published.as_ref();
        match published.filter(|published| published.epoch == plan.next.epoch) {
            Some(published) => go_on(&collection, plan, published, call.deadline).await?,
            None => begin(&collection, plan.dimensions, call.deadline).await?,
        }
        let holdings = Holdings::read(collection, call.deadline).await?;
        Ok(Draft::new(holdings, plan.next.number, plan.dimensions))
    }

    /// What the epoch of `generation` holds, to carry vectors over from; `None` if it has no collection.
    ///
    /// # Errors
    ///
    /// [`QdrantError`], if it cannot be read.
    pub async fn holdings(
        &self,
        generation: &GenerationId,
        call: &Call,
    ) -> Result<Option<Holdings>, QdrantError> {
        let collection = self.collection_of(generation);
        if !collection.exists(call.deadline).await? {
            return Ok(None);
        }
        Holdings::read(collection, call.deadline).await.map(Some)
    }

    /// Leads the alias of the app to the collection of `published`. Only people look there, so a failure needs
    /// no more than a line in the log.
    ///
    /// # Errors
    ///
    /// [`QdrantError`].
    pub async fn lead_people_to(
        &self,
        published: &GenerationId,
        call: &Call,
    ) -> Result<(), QdrantError> {
        let create = &CreateAlias {
            collection_name: self.collection_of(published).name().to_owned(),
            alias_name: self.qdrant.prefix().alias(&published.app),
        };
        let led = steadily("set an alias", call.deadline, |limit| async move {
            // Takes the place of an alias of that name.
            let action = AliasOperations { action: Some(Action::CreateAlias(create.clone())) };
            let request = ChangeAliases { actions: vec![action], timeout: Some(limit) };
            self.qdrant.collections().update_aliases(request).await
        });
        led.await.map(drop)
    }

    /// Deletes what nobody can ask for any more: points that ended with or before `oldest`, and collections of
    /// epochs that are neither its, nor `newest`'s, nor between. Call it when every replica has let go of all
    /// generations before `oldest`, and the longest budget has passed since.
    ///
    /// # Errors
    ///
    /// [`QdrantError`]; the next sweep does what this one did not.
    pub async fn sweep(
        &self,
        oldest: &GenerationId,
        newest: &GenerationId,
        call: &Call,
    ) -> Result<(), QdrantError> {
        for epoch in self.epochs(&newest.app, call.deadline).await? {
            let collection = self.collection(&newest.app, epoch);
            if (oldest.epoch..=newest.epoch).contains(&epoch) {
                collection.delete(closed_by(oldest.number), call.deadline).await?;
            } else {
                collection.remove(call.deadline).await?;
            }
        }
        Ok(())
    }

    /// Removes every collection of `app`.
    ///
    /// # Errors
    ///
    /// [`QdrantError`]; some may be gone then.
    pub async fn remove_app(&self, app: &AppName, call: &Call) -> Result<(), QdrantError> {
        for epoch in self.epochs(app, call.deadline).await? {
            self.collection(app, epoch).remove(call.deadline).await?;
        }
        Ok(())
    }

    /// The epochs of `app` that have a collection.
    async fn epochs(&self, app: &AppName, deadline: Deadline) -> Result<Vec<u32>, QdrantError> {
        let reply = steadily("list collections", deadline, |_limit| async {
            self.qdrant.collections().list(ListCollectionsRequest {}).await
        });
        let names = reply.await?.collections;
        let epoch = |name: &str| self.qdrant.prefix().epoch_of(app, name);
        Ok(names.iter().filter_map(|collection| epoch(&collection.name)).collect())
    }

    fn collection_of(&self, generation: &GenerationId) -> Collection {
        self.collection(&generation.app, generation.epoch)
    }

    fn collection(&self, app: &AppName, epoch: u32) -> Collection {
        Collection::new(self.qdrant.clone(), self.qdrant.prefix().collection(app, epoch))
    }
}

impl Plan {
    /// Writing into what is published would change what requests see.
    fn check(&self) -> Result<(), QdrantError> {
        let Some(published) = &self.published else { return Ok(()) };
        let newer = self.next.app == published.app
            && self.next.number > published.number
            && self.next.epoch >= published.epoch;
        if newer {
            return Ok(());
        }
        let (next, published) = (Box::new(self.next.clone()), Box::new(published.clone()));
        Err(QdrantError::NotNext { next, published })
    }
}

/// An empty collection, whatever a killed run has left in its place.
async fn begin(
    collection: &Collection,
    dimensions: u32,
    deadline: Deadline,
) -> Result<(), QdrantError> {
    collection.remove(deadline).await?;
    collection.create(dimensions, deadline).await?;
    collection.index(deadline).await
}

/// The collection of a published epoch, less what a killed run has added and closed.
async fn go_on(
    collection: &Collection,
    plan: &Plan,
    published: &GenerationId,
    deadline: Deadline,
) -> Result<(), QdrantError> {
    // A server that has lost the collection gets it again, as of this revision.
    if !collection.exists(deadline).await? {
        collection.create(plan.dimensions, deadline).await?;
    }
    collection.check_shape(plan.dimensions, deadline).await?;
    collection.index(deadline).await?;
    collection.delete(begun_after(published.number), deadline).await?;
    collection.end(closed_after(published.number), OPEN, deadline).await
}
