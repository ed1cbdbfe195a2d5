//! What is published, and what has been.

use std::time::SystemTime;

use domain::{Article, ArticleId, GenerationId, Passage};

use crate::Recipe;

/// One published generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    pub id: GenerationId,
    pub recipe: Recipe,
    pub articles: u64,
    pub passages: u64,
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

/// A generation about to be published. Its index parts are complete on disk.
#[derive(Clone, Debug)]
pub struct Publication {
    pub published: Published,
    pub changes: Changes,
}
