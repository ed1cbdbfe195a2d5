//! Vectors in Qdrant: searched by every replica, written by one run at a time.
//!
//! An app has one collection per epoch, asked by its own name. Within it every point carries the revisions it
//! is of, `from ≤ r < until`, so a search names its revision and never sees another, whatever is being
//! written at the time. Nothing that is looked up moves; the alias is for people.
//!
//! The messages are `qdrant-client`'s. Its client is not used: it repeats calls by itself, which doubles every
//! timeout, and does not notice a connection that has died in silence.

mod client;
mod collection;
mod draft;
mod error;
mod filter;
mod holdings;
mod names;
mod point;
mod settings;
mod steadily;
mod vectors;
mod writer;

pub use client::{Health, Qdrant};
pub use draft::{Draft, Written};
pub use error::{QdrantError, Said};
pub use holdings::Holdings;
pub use names::{InvalidPrefix, Prefix};
pub use settings::{ApiKey, InvalidSettings, QdrantSettings};
pub use vectors::{IndexMismatch, QdrantVectors};
pub use writer::{Plan, QdrantWriter};
