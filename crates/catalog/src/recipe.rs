//! [`Recipe`]: what an epoch's indexes are made with.

use domain::EmbedderId;
use serde::{Deserialize, Serialize};

/// Everything that, when changed, makes old index parts unusable: a new recipe is a new epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// The model of the vectors. `serve` uses the one named here, whatever else is configured.
    pub embedder: EmbedderId,
    /// Changes when equal articles would be split otherwise.
    pub splitter: u32,
    /// Changes when equal passages would be embedded from another text.
    pub passage_text: u32,
    /// How words are cut: the analyser's version and profile.
    pub analyser: String,
}
