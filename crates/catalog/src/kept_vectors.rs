//! [`KeptVectors`]: vectors that lie beside the passages.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use domain::{AppName, GenerationId, PassageId, Vector};

use crate::CatalogError;

/// Vectors of an app's passages, in spaces: what [`Recipe::space`](crate::Recipe::space) names.
#[async_trait]
pub trait KeptVectors: Send + Sync {
    /// Keeps `vectors`. What is kept already stays as it is.
    ///
    /// # Errors
    ///
    /// [`CatalogError`]; some may be kept then.
    async fn keep(
        &self,
        app: &AppName,
        space: &str,
        vectors: &HashMap<PassageId, Vector>,
    ) -> Result<(), CatalogError>;

    /// Those of `passages` that have none.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn missing(
        &self,
        app: &AppName,
        space: &str,
        passages: &[PassageId],
    ) -> Result<HashSet<PassageId>, CatalogError>;

    /// Those that there are of `passages`.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn find(
        &self,
        app: &AppName,
        space: &str,
        passages: &[PassageId],
    ) -> Result<HashMap<PassageId, Vector>, CatalogError>;

    /// How many passages of `generation` have one.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn count(&self, generation: &GenerationId, space: &str) -> Result<u64, CatalogError>;

    /// Lets go of those that no generation from `oldest` on needs, whose spaces are `spaces`. Wants the app's
    /// [`Writer`](crate::Writer) held.
    ///
    /// # Errors
    ///
    /// [`CatalogError`].
    async fn trim(&self, app: &AppName, oldest: u64, spaces: &[String])
    -> Result<(), CatalogError>;
}
