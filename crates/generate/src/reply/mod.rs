//! A model's reply as it comes in: bytes → documents → chunks → deltas.

mod documents;
mod error;
mod json_end;
mod progress;
mod sentinel;
mod stream;

use domain::Usage;
use normalize::short_name;
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

/// The longest name of a model that is passed on, in characters; the longest known has some 60.
const LONGEST_MODEL: usize = 128;

/// The model that a provider says to be writing, as it may be logged and shown; `None` where nothing is said.
pub(crate) fn told_model(told: Option<String>) -> Option<String> {
    told.map(|name| short_name(&name, LONGEST_MODEL)).filter(|name| !bare(name).is_empty())
}

/// A model's name without its collection.
fn bare(model: &str) -> &str {
    model.strip_prefix("models/").unwrap_or(model)
}

/// Reads a provider's document.
pub(crate) type ReadChunk = fn(Value) -> Result<Chunk, serde_json::Error>;
