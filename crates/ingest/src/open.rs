//! [`open`]: from a generation's row to a generation that answers.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use catalog::{Published, VectorHome};
use deadline::CpuPool;
use domain::{Call, Fault, FaultKind, Filter, GenerationId, Neighbour, Vector, VectorIndex};
use qdrant::QdrantVectors;
use search::{Generation, GenerationError, KeywordIndex};
use thiserror::Error;

use crate::{IngestError, Stores, copy};

/// Opens what lies on this host of `published`; blocking. Qdrant is not called: it may be away, and come back.
///
/// # Errors
///
/// [`IngestError::NoCopy`] where hosts share the catalog and this one has not built the generation yet,
/// [`IngestError::Unusable`] naming the folder.
pub fn open(
    stores: &Stores,
    published: &Published,
    pool: CpuPool,
) -> Result<Generation, IngestError> {
    let folder = stores.folder(published);
    if stores.is_shared() && !copy::is_of(folder.path(), published) {
        let (app, number) = (published.id.app.clone(), published.id.number);
        return Err(IngestError::NoCopy { app, number });
    }
    let Published { id, recipe, articles, .. } = published.clone();
    match recipe.vectors {
        VectorHome::Files | VectorHome::Catalog => {
            Ok(Generation::open(&folder, id, recipe.embedder, articles, pool)?)
        }
        VectorHome::Qdrant => {
            let keyword = open_keyword(folder.path(), &folder.keyword())?;
            let vectors = remote_vectors(stores, published);
            Ok(Generation::new(id, recipe.embedder, Arc::new(keyword), vectors, articles))
        }
    }
}

fn open_keyword(folder: &Path, keyword: &Path) -> Result<KeywordIndex, GenerationError> {
    let failed = |source| GenerationError::Keyword { folder: folder.to_owned(), source };
    KeywordIndex::open(keyword).map_err(failed)
}

fn remote_vectors(stores: &Stores, published: &Published) -> Arc<dyn VectorIndex> {
    match stores.qdrant_of(&published.recipe) {
        Some(qdrant) => Arc::new(QdrantVectors::new(
            &qdrant,
            published.id.clone(),
            &published.recipe.embedder,
            published.passages,
        )),
        None => Arc::new(OutOfReach),
    }
}

/// The vectors of a generation that lie in a Qdrant which this process was not told of.
#[derive(Debug)]
struct OutOfReach;

#[derive(Debug, Error)]
#[error("the vectors of this generation are in Qdrant, and QDRANT_URL is not set")]
struct NoAddress;

#[async_trait]
impl VectorIndex for OutOfReach {
    async fn nearest(
        &self,
        _generation: &GenerationId,
        _vector: &Vector,
        _filter: &Filter,
        _k: usize,
        _call: &Call,
    ) -> Result<Vec<Neighbour>, Fault> {
        Err(Fault::new(FaultKind::Unavailable, NoAddress))
    }
}
