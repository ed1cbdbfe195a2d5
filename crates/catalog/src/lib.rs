//! Articles, passages, generations and tombstones of record.
//!
//! Search indexes are derived from what stands here and can be built again from it. Publishing is one
//! transaction: either a generation is there with all its rows, or nothing has happened.
//!
//! [`SqliteCatalog`] is a file of one machine, [`PgCatalog`] a database that many share.

mod catalog;
mod error;
mod kept_vectors;
mod postgres;
mod publication;
mod recipe;
mod sqlite;
mod stored;

pub use catalog::{Beat, Catalog, Heard, Writer};
pub use error::CatalogError;
pub use kept_vectors::KeptVectors;
pub use postgres::{PgCatalog, PgSettings, may_create, migrate, newer, pending};
pub use publication::{Changes, Difference, Publication, Published};
pub use recipe::{Recipe, VectorHome};
pub use sqlite::SqliteCatalog;
