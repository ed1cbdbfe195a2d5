//! Whether what was found answers the question at all.

use crate::{KeywordHits, VectorHit};

/// The strongest signs that the collection speaks of what was asked. Vectors always have neighbours and
/// most questions share some word with most collections, so neither alone says much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relevance {
    /// The best keyword hit's share of the question's content words, 0…1, rare words counting more.
    pub coverage: f32,
    /// The nearest passage's cosine, if vectors were searched.
    pub cosine: Option<f32>,
}

/// Below this cosine an answer needs words in common; taken from the distributions in
/// `docs/RELEVANCE.md`.
const CLOSE: f32 = 0.45;

impl Relevance {
    /// Reads both lists.
    #[must_use]
    pub fn of(keyword: Option<&KeywordHits>, vector: Option<&[VectorHit]>) -> Self {
        let coverage = keyword.map_or(0.0, |found| {
            found.hits.iter().map(|hit| hit.coverage).fold(0.0, f32::max)
        });
        let cosine = vector.and_then(|hits| hits.iter().map(|hit| hit.cosine).max_by(f32::total_cmp));
        Self { coverage, cosine }
    }

    /// Whether to answer from what was found.
    #[must_use]
    pub fn answers(&self) -> bool {
        self.coverage > 0.0 || self.cosine.is_some_and(|cosine| cosine >= CLOSE)
    }
}
