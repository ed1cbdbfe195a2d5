//! Finding passages: by their words, by their meaning, and by both together.
//!
//! Everything here is in-process and synchronous; nothing knows of networks.

mod fusion;
mod generation;
pub mod keyword;
mod relevance;
pub mod vector;

pub use fusion::fuse;
pub use generation::{Generation, GenerationError, GenerationFolder, VectorHit};
pub use keyword::{
    Highlighter, KeywordError, KeywordHit, KeywordHits, KeywordIndex, KeywordRequest, KeywordStats,
    KeywordWriter,
};
pub use relevance::Relevance;
pub use vector::{EmbeddedVectors, VectorError, VectorFile, VectorWriter};
