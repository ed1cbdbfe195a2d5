//! Turning texts into vectors.
//!
//! [`LocalEmbedder`] does it in this process: no key, no network, about a millisecond a question. What the
//! vectors are for is nobody's business here.

mod local;

pub use local::{LocalEmbedder, ModelError};
