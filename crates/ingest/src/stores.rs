//! [`Stores`]: where everything is kept.

use std::sync::Arc;

use catalog::{Catalog, Published, Recipe, VectorHome};
use qdrant::Qdrant;
use search::GenerationFolder;

use crate::DataDir;

/// Where articles of record, vectors and index parts are kept. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Stores {
    pub data: DataDir,
    pub catalog: Arc<dyn Catalog>,
    pub qdrant: Option<Qdrant>,
}

impl Stores {
    /// Where the vectors of a new epoch go.
    #[must_use]
    pub fn vector_home(&self) -> VectorHome {
        if self.qdrant.is_some() {
            VectorHome::Qdrant
        } else if self.is_shared() {
            VectorHome::Catalog
        } else {
            VectorHome::Files
        }
    }

    /// The part of Qdrant in which vectors of `recipe` lie, if this process was told of a Qdrant.
    #[must_use]
    pub fn qdrant_of(&self, recipe: &Recipe) -> Option<Qdrant> {
        let qdrant = self.qdrant.as_ref()?;
        Some(recipe.owner.map_or_else(|| qdrant.clone(), |owner| qdrant.of(owner)))
    }

    /// Whether hosts share the catalog, so that each builds its own copies.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.catalog.shared().is_some()
    }

    /// Where the parts of a generation lie on this host.
    pub(crate) fn folder(&self, published: &Published) -> GenerationFolder {
        let (app, number) = (&published.id.app, published.id.number);
        if self.is_shared() {
            self.data.copy(app, number)
        } else {
            self.data.generation(app, number)
        }
    }
}
