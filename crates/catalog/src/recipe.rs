//! [`Recipe`]: what an epoch's indexes are made with.

use domain::EmbedderId;
use serde::{Deserialize, Serialize};

/// Everything that, when changed, makes old index parts unusable: a new recipe is a new epoch. Recipes that
/// an older Kiwari has stored lack newer fields, and so differ from today's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// The model of the vectors. `serve` uses the one named here, whatever else is configured.
    pub embedder: EmbedderId,
    /// Changes when equal articles would be split otherwise.
    #[serde(default)]
    pub splitter: u32,
    /// Changes when equal passages would be given another vector by the same model.
    #[serde(default)]
    pub passage_text: u32,
    /// How words are cut: profile and version of the analyser, formats of the indexes.
    #[serde(default)]
    pub analyser: String,
    /// Where the vectors lie. Moving them is a new epoch.
    #[serde(default)]
    pub vectors: VectorHome,
    /// Where vectors lie in Qdrant: the [identity](crate::Catalog::identity) of the catalog whose collections hold
    /// them, as a Qdrant may serve several. `None`: an older Kiwari wrote them, under names that say no more than the
    /// app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<u32>,
}

/// Where an epoch's vectors lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorHome {
    /// In a file beside the keyword index, written by the run that published.
    #[default]
    Files,
    /// In the catalog; every replica makes a file of them for itself.
    Catalog,
    Qdrant,
}

impl Recipe {
    /// Names what vectors can be compared with these: passages with equal ids have equal vectors in it.
    #[must_use]
    pub fn space(&self) -> String {
        format!("{}/{}", self.embedder, self.passage_text)
    }
}
