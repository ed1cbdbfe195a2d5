//! A model's reply as it comes in: bytes → documents → chunks → deltas.

mod documents;
mod error;
mod json_end;
mod progress;
mod sentinel;
mod stream;

use domain::Usage;
use serde_json::Value;

pub(crate) use error::ReplyError;
pub(crate) use stream::{Request, deltas};

/// What one document of a stream says, whichever provider sent it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Chunk {
    /// More of the answer; may be empty.
    pub(crate) text: String,
    pub(crate) ending: Option<Ending>,
    /// Tokens from the start.
    pub(crate) usage: Option<Usage>,
    /// The model that writes.
    pub(crate) model: Option<String>,
}

/// Why a model says it stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It had said all.
    Stop,
    /// Its token cap was reached.
    Length,
    /// The provider refuses the content; with its word for why.
    Blocked(String),
    /// Anything else, ways of ending that we do not know yet among it.
    Failed(String),
}

/// Reads a provider's document.
pub(crate) type ReadChunk = fn(Value) -> Result<Chunk, serde_json::Error>;
