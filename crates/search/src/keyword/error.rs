//! [`KeywordError`]: why an index cannot be written, opened or read.

use std::io;
use std::path::{Path, PathBuf};

use tantivy::TantivyError;
use thiserror::Error;

/// Why a keyword index cannot be written, opened or read; every variant but the last names its directory.
#[derive(Debug, Error)]
pub enum KeywordError {
    /// There is no committed index.
    #[error("{} holds no finished keyword index", dir.display())]
    Missing { dir: PathBuf },
    /// A new index was to be made where one is, finished or not.
    #[error("{} already holds a keyword index", dir.display())]
    Exists { dir: PathBuf },
    /// Another writer is at work, in this process or another one.
    #[error("another writer is at work on the keyword index in {}", dir.display())]
    Locked { dir: PathBuf },
    /// It was written by another version of this program.
    #[error("the keyword index in {} has format {found}, this program reads {expected}: index again", dir.display())]
    Format { dir: PathBuf, found: u32, expected: u32 },
    /// A file's content is not what was written.
    #[error("the keyword index in {} is damaged: {detail}", dir.display())]
    Damaged { dir: PathBuf, detail: String },
    /// A file could not be linked or copied.
    #[error("cannot {action} {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// tantivy could not do what was asked.
    #[error("cannot {action} the keyword index in {}", dir.display())]
    Tantivy { action: &'static str, dir: PathBuf, source: TantivyError },
    /// Nobody waits for the search any more.
    #[error("the search was cancelled")]
    Cancelled,
}

impl KeywordError {
    /// What tantivy reports, in our words where callers or operators act on it.
    pub(super) fn new(action: &'static str, dir: &Path, source: TantivyError) -> Self {
        let dir = dir.to_owned();
        if let TantivyError::LockFailure(..) = source {
            return Self::Locked { dir };
        }
        if let TantivyError::IndexAlreadyExists = source {
            return Self::Exists { dir };
        }
        if let TantivyError::DataCorruption(damage) = &source {
            return Self::Damaged { dir, detail: format!("{damage:?}") };
        }
        Self::Tantivy { action, dir, source }
    }

    /// For use in `map_err`.
    pub(super) fn while_doing<'a>(
        action: &'static str,
        dir: &'a Path,
    ) -> impl Fn(TantivyError) -> Self + use<'a> {
        move |source| Self::new(action, dir, source)
    }
}
