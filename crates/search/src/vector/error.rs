//! [`VectorError`]: why a vector file could not be written or opened.

use std::io;
use std::path::PathBuf;

use domain::PassageId;
use thiserror::Error;

/// Every message names the file.
#[derive(Debug, Error)]
pub enum VectorError {
    #[error("cannot read the vector file {}", file.display())]
    Read {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot write the vector file {}", file.display())]
    Write {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Not one of ours, of another version, cut short, or changed after it was written.
    #[error("{} is no usable vector file: {problem}", file.display())]
    Corrupt { file: PathBuf, problem: String },
    #[error("{}: passage {passage} has {found} dimensions, not {expected}", file.display())]
    Dimensions { file: PathBuf, passage: PassageId, found: usize, expected: usize },
    #[error("{}: passage {passage} was added twice", file.display())]
    Duplicate { file: PathBuf, passage: PassageId },
}
