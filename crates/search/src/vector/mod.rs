//! Finding passages by meaning: an exact search over all vectors of one generation, in this process.
//!
//! The vectors lie in one file, written once by [`VectorWriter`] and mapped by [`VectorFile`]. A search
//! compares the question with *every* admitted passage, at eight bits a number, and orders the best of them
//! anew at full precision. So filters never cost a hit, and nothing has to be trained or tuned.

mod best;
mod error;
mod file;
mod format;
mod index;
mod labels;
mod mmap;
mod quantize;
#[cfg(test)]
mod tests;
mod writer;

pub use error::VectorError;
pub use file::VectorFile;
pub use format::FORMAT;
pub use index::{EmbeddedVectors, IndexMismatch};
pub use writer::VectorWriter;
