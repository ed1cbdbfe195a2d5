//! Articles in, a published generation out.
//!
//! A run builds the parts of a new generation beside the published one, looks at them, and then publishes
//! with one row in the catalog. Killed at any moment, it leaves the published generation whole. Passages
//! that did not change are neither indexed nor embedded again.

mod data_dir;
mod diff;
mod error;
mod parts;
mod retry;
mod run;
mod vectors;

pub use data_dir::{DataDir, IndexLock};
pub use error::IngestError;
pub use run::{Job, Progress, Summary, run};
pub use vectors::{Embedding, vectors_of};
