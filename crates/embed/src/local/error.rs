//! [`ModelError`]: why a model could not be loaded.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A model file that cannot be used. Every message names the file and what is wrong with it.
#[derive(Debug, Error)]
pub enum ModelError {
    #[error("cannot read the model file {}", file.display())]
    Read {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is no safetensors file", file.display())]
    NotSafetensors {
        file: PathBuf,
        #[source]
        source: safetensors::SafeTensorError,
    },
    #[error("{}: tensor {tensor} is missing", file.display())]
    MissingTensor { file: PathBuf, tensor: String },
    #[error("{}: tensor {tensor} is {found}, not {expected}", file.display())]
    WrongTensor { file: PathBuf, tensor: String, found: String, expected: String },
    #[error("{}: tensor {tensor} holds a number that is not finite", file.display())]
    NotFinite { file: PathBuf, tensor: String },
    #[error("{} is no tokenizer description", file.display())]
    NotTokenizer {
        file: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error("{}: {problem}", file.display())]
    Vocabulary { file: PathBuf, problem: String },
}
