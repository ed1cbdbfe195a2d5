//! [`IngestError`].

use std::path::PathBuf;

use catalog::CatalogError;
use domain::{AppName, Fault};
use qdrant::QdrantError;
use search::{GenerationError, KeywordError, VectorError};
use thiserror::Error;

/// A run that published nothing. What was published before is as it was.
#[derive(Debug, Error)]
pub enum IngestError {
    #[error("there are no articles to index; the index of app {app} is as it was")]
    NoArticles { app: AppName },
    #[error(
        "another process is building the index of app {app} in this data directory (its lock is {})", lock.display()
    )]
    Building { app: AppName, lock: PathBuf },
    #[error("cannot {doing} {}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error("cannot write the keyword index")]
    Keyword(#[from] KeywordError),
    #[error("cannot write the vectors")]
    Vectors(#[from] VectorError),
    #[error("cannot embed the passages with {embedder}")]
    Embed { embedder: String, source: Fault },
    #[error("cannot use Qdrant")]
    Qdrant(#[from] QdrantError),
    #[error("the generation does not open")]
    Unusable(#[from] GenerationError),
    #[error("generation {number} of app {app} has not been built here")]
    NoCopy { app: AppName, number: u64 },
    #[error("the generation holds {found} passages or vectors instead of {expected}")]
    Incomplete { found: u64, expected: u64 },
    #[error("the work was stopped: {0}")]
    Stopped(String),
}

impl IngestError {
    pub(crate) fn io(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}
