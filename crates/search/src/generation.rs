//! [`Generation`]: one published state of an app's knowledge, opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use deadline::CpuPool;
use domain::{Embedder, EmbedderId, GenerationId, Neighbour, Passage, VectorIndex};
use thiserror::Error;

use crate::keyword::{KeywordError, KeywordIndex};
use crate::vector::{EmbeddedVectors, VectorError, VectorFile};

/// Everything that answers of one generation stand on. Immutable; a request pins one `Arc` of it at its
/// start, and old ones live until their last pin is gone.
#[derive(Debug)]
pub struct Generation {
    id: GenerationId,
    embedder: EmbedderId,
    embedding: Option<Arc<dyn Embedder>>,
    keyword: Arc<KeywordIndex>,
    vectors: Arc<dyn VectorIndex>,
    articles: u64,
}

/// A passage that the vector search found.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorHit {
    pub passage: Arc<Passage>,
    /// Cosine to the question.
    pub cosine: f32,
}

/// A generation's folder that cannot be used.
#[derive(Debug, Error)]
pub enum GenerationError {
    #[error("cannot open the keyword index in {}", folder.display())]
    Keyword { folder: PathBuf, source: KeywordError },
    #[error("cannot open the vectors in {}", folder.display())]
    Vectors { folder: PathBuf, source: VectorError },
    #[error(
        "the vectors in {} were made by {found}, but the generation names {expected}; index again",
        folder.display()
    )]
    Embedder { folder: PathBuf, found: EmbedderId, expected: EmbedderId },
}

/// Where a generation keeps its parts.
#[derive(Clone, Debug)]
pub struct GenerationFolder(PathBuf);

impl GenerationFolder {
    /// The parts under `folder`.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The keyword index, a folder.
    #[must_use]
    pub fn keyword(&self) -> PathBuf {
        self.0.join("keyword")
    }

    /// The vectors, a file.
    #[must_use]
    pub fn vectors(&self) -> PathBuf {
        self.0.join("vectors.kiwari")
    }
}

impl Generation {
    /// Puts opened parts together.
    #[must_use]
    pub fn new(
        id: GenerationId,
        embedder: EmbedderId,
        keyword: Arc<KeywordIndex>,
        vectors: Arc<dyn VectorIndex>,
        articles: u64,
    ) -> Self {
        Self { id, embedder, embedding: None, keyword, vectors, articles }
    }

    /// The same, with the model that embeds questions for it. One that makes other vectors is not taken.
    #[must_use]
    pub fn with_embedding(self, embedding: Option<Arc<dyn Embedder>>) -> Self {
        let embedding = embedding.filter(|embedding| *embedding.id() == self.embedder);
        Self { embedding, ..self }
    }

    /// The same, searching `wrap` of its vectors.
    #[must_use]
    pub fn with_vectors(
        self,
        wrap: impl FnOnce(Arc<dyn VectorIndex>) -> Arc<dyn VectorIndex>,
    ) -> Self {
        Self { vectors: wrap(Arc::clone(&self.vectors)), ..self }
    }

    /// Opens the parts in `folder`, with the vectors searched in this process.
    ///
    /// # Errors
    ///
    /// [`GenerationError`] naming the folder.
    pub fn open(
        folder: &GenerationFolder,
        id: GenerationId,
        embedder: EmbedderId,
        articles: u64,
        pool: CpuPool,
    ) -> Result<Self, GenerationError> {
        let at = || folder.path().to_owned();
        let keyword = KeywordIndex::open(&folder.keyword())
            .map_err(|source| GenerationError::Keyword { folder: at(), source })?;
        let file = VectorFile::open(&folder.vectors())
            .map_err(|source| GenerationError::Vectors { folder: at(), source })?;
        if *file.embedder() != embedder {
            let found = file.embedder().clone();
            return Err(GenerationError::Embedder { folder: at(), found, expected: embedder });
        }
        let vectors = Arc::new(EmbeddedVectors::new(id.clone(), Arc::new(file), pool));
        Ok(Self::new(id, embedder, Arc::new(keyword), vectors, articles))
    }

    /// Which generation this is.
    #[must_use]
    pub fn id(&self) -> &GenerationId {
        &self.id
    }

    /// The model that made the vectors; questions must be embedded by the same one.
    #[must_use]
    pub fn embedder(&self) -> &EmbedderId {
        &self.embedder
    }

    /// That model, if it can be called here; without it, keywords alone answer.
    #[must_use]
    pub fn embedding(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedding.as_ref()
    }

    /// The keyword index, which also stores the passages.
    #[must_use]
    pub fn keyword(&self) -> &KeywordIndex {
        &self.keyword
    }

    /// The vector index.
    #[must_use]
    pub fn vectors(&self) -> &Arc<dyn VectorIndex> {
        &self.vectors
    }

    /// How many articles there are.
    #[must_use]
    pub fn articles(&self) -> u64 {
        self.articles
    }

    /// The passages of `neighbours`, in their order. One that this generation does not hold is left out:
    /// a request never sees another generation's passage.
    ///
    /// # Errors
    ///
    /// [`KeywordError`] if the passages cannot be read.
    pub fn resolve(&self, neighbours: &[Neighbour]) -> Result<Vec<VectorHit>, KeywordError> {
        let mut hits = Vec::with_capacity(neighbours.len());
        for neighbour in neighbours {
            if let Some(passage) = self.keyword.passage(neighbour.passage)? {
                hits.push(VectorHit { passage, cosine: neighbour.cosine });
            }
        }
        Ok(hits)
    }
}
