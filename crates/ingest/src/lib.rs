//! Articles in, a published generation out.
//!
//! A run builds the parts of a new generation beside the published one, looks at them, and then publishes
//! with one row in the catalog. Killed at any moment, it leaves the published generation whole. Passages
//! that did not change are neither indexed nor embedded again.
//!
//! Where the catalog is a file, the parts lie beside it and servers open them. Where hosts share one, a run writes
//! to the catalog and to wherever vectors lie, and every host builds [copies](build_copy) of the parts for itself.

mod copy;
mod data_dir;
mod diff;
mod error;
mod home;
mod open;
mod parts;
mod retry;
mod run;
mod stores;
mod tidy;
mod vectors;

pub use copy::{build_copy, copies};
pub use data_dir::DataDir;
pub use error::IngestError;
pub use home::vectors_are_complete;
pub use open::open;
pub use run::{Job, Progress, Summary, run};
pub use stores::Stores;
pub use tidy::{SILENCE, tidy};
pub use vectors::{Embedding, vectors_of};
