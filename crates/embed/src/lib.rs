//! Turning texts into vectors.
//!
//! [`LocalEmbedder`] does it in this process: no key, no network, about a millisecond a question.
//! [`GeminiEmbedder`] and [`OpenAiEmbedder`] ask a remote model. What the vectors are for is nobody's
//! business here.

mod local;
pub mod remote;

pub use local::{LocalEmbedder, ModelError};
pub use remote::{
    GeminiEmbedder, GeminiSettings, InvalidEmbedder, OpenAiEmbedder, OpenAiSettings, ReplyError,
};
