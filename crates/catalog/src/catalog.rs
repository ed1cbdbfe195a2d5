//! [`Catalog`] and [`Writer`]: the seam between what is of record and who keeps it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use domain::{AppName, ArticleId, ContentHash, GenerationId, Passage, PassageId};

use crate::{CatalogError, Difference, KeptVectors, Publication, Published};

/// What has been published. Every method ends within a bound of its own.
#[async_trait]
pub trait Catalog: Send + Sync + fmt::Debug {
    /// The vectors that lie in the catalog itself, if it is one that hosts share. Whoever follows such a catalog
    /// builds the searchable parts on its own disk; of one that is a file, the indexing run has built them beside it.
    fn shared(&self) -> Option<&dyn KeptVectors>;

    /// What tells this catalog from all others, drawn when it was made. A copy of a database has the same.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn identity(&self) -> Result<u32, CatalogError>;

    /// The newest generation of each app, by name; an app whose row cannot be understood leaves the others
    /// alone.
    ///
    /// # Errors
    ///
    /// [`CatalogError`] for all of them, [`CatalogError::Damaged`] for one.
    async fn newest(&self) -> Result<Vec<Result<Published, CatalogError>>, CatalogError>;

    /// The newest generation of `app`, if it has one.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn newest_of(&self, app: &AppName) -> Result<Option<Published>, CatalogError>;

    /// The generations of `app` from `number` on, oldest first.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn since(&self, app: &AppName, number: u64) -> Result<Vec<Published>, CatalogError>;

    /// The content hash of every article in `app`'s newest generation.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn content_hashes(
        &self,
        app: &AppName,
    ) -> Result<BTreeMap<ArticleId, ContentHash>, CatalogError>;

    /// The ids of the passages that `articles` have in the newest generation.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn passage_ids(
        &self,
        app: &AppName,
        articles: &[ArticleId],
    ) -> Result<Vec<PassageId>, CatalogError>;

    /// Every passage of one generation, by article and position, whatever is published meanwhile.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn passages(&self, generation: &GenerationId) -> Result<Vec<Passage>, CatalogError>;

    /// What makes generation `basis` of the same app into `generation`.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn difference(
        &self,
        basis: u64,
        generation: &GenerationId,
    ) -> Result<Difference, CatalogError>;

    /// The right to write `app`, which one process on any host has at a time. `holder` says who that is, for those
    /// who come second. The system takes the right back when the process ends, however it ends.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Busy`] naming who has it.
    async fn writer(&self, app: &AppName, holder: &str) -> Result<Box<dyn Writer>, CatalogError>;

    /// Notes that a server lives, and the oldest generation of each app that it still answers from.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn beat(&self, beat: &Beat) -> Result<(), CatalogError>;

    /// The server `replica` answers from nothing any more.
    ///
    /// # Errors
    ///
    /// [`CatalogError`]; it will be taken for gone in time.
    async fn leave(&self, replica: &str) -> Result<(), CatalogError>;

    /// The oldest generation of `app` that any server answers from which was heard of within `silence`.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn oldest_in_use(
        &self,
        app: &AppName,
        silence: Duration,
    ) -> Result<Option<u64>, CatalogError>;

    /// The servers that answer from `app` and were heard of within `silence`, those of the oldest generation first.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn servers(&self, app: &AppName, silence: Duration) -> Result<Vec<Heard>, CatalogError>;

    /// Says goodbye.
    async fn close(&self);
}

/// The right to write one app.
#[async_trait]
pub trait Writer: Send + Sync + fmt::Debug {
    /// Whether the right is still there: a database that was restarted gives it to others.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Lost`].
    async fn check(&mut self) -> Result<(), CatalogError>;

    /// Publishes a generation with its changes, all or nothing.
    ///
    /// # Errors
    ///
    /// [`CatalogError::AlreadyPublished`] if its number is taken, [`CatalogError::Lost`], [`CatalogError::Write`]; the
    /// catalog is as it was, unless the connection broke at the very end ([`CatalogError::Write`], too).
    async fn publish(&mut self, publication: &Publication) -> Result<(), CatalogError>;

    /// Gives the right back. Dropping does so too, a moment later.
    async fn release(self: Box<Self>);
}

/// What was last heard of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// As in its [`Beat`].
    pub replica: String,
    /// The oldest generation that it may still answer from.
    pub generation: u64,
    /// How long ago, by the catalog's own clock.
    pub ago: Duration,
}

/// What a server says of itself every few seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Unique to the process.
    pub replica: String,
    pub oldest_in_use: Vec<(AppName, u64)>,
}
