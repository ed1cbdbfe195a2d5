//! What is published, and what has been.

use std::time::SystemTime;

use domain::{Article, ArticleId, GenerationId, Passage, PassageId};
use serde::{Deserialize, Serialize};

use crate::Recipe;

/// One published generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    pub id: GenerationId,
    pub recipe: Recipe,
    pub articles: u64,
    pub passages: u64,
    /// Kept to the microsecond.
    pub published_at: SystemTime,
}

/// What a new generation changes against the one before it.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// New articles and new versions of old ones, with their passages.
    pub written: Vec<(Article, Vec<Passage>)>,
    /// Articles that are gone.
    pub removed: Vec<ArticleId>,
}

/// A generation about to be published. Its index parts are complete where they lie.
#[derive(Clone, Debug)]
pub struct Publication {
    pub published: Published,
    pub changes: Changes,
}

/// What makes one generation's passages into another's: first `removed`, then `written`. A passage that a new
/// version of its article shares with the old one is in both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    pub removed: Vec<PassageId>,
    pub written: Vec<Passage>,
}
