//! [`IngestError`].

use std::path::PathBuf;

use catalog::CatalogError;
use domain::{AppName, Fault};
use search::{GenerationError, KeywordError, VectorError};
use thiserror::Error;

/// A run that published nothing. What was published before is as it was.
#[derive(Debug, Error)]
pub enum IngestError {
    #[error("there are no articles to index; the index of app {app} is as it was")]
    NoArticles { app: AppName },
    #[error("another run is indexing app {app}; wait for it to end (its lock is {})", lock.display())]
    Busy { app: AppName, lock: PathBuf },
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
    #[error("the new generation does not open; nothing was published")]
    Unusable(#[source] GenerationError),
    #[error(
        "the new generation holds {found} passages or vectors instead of {expected}; nothing was published"
    )]
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
