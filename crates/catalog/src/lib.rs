//! Articles, passages, generations and tombstones of record.
//!
//! Search indexes are derived from what stands here and can be built again from it. Publishing is one
//! transaction: either a generation is there with all its rows, or nothing has happened.

mod error;
mod publication;
mod recipe;
mod store;

pub use error::CatalogError;
pub use publication::{Changes, Publication, Published};
pub use recipe::Recipe;
pub use store::Catalog;
