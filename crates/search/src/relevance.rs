//! Whether what was found answers the question at all.

use crate::{KeywordHits, VectorHit};

/// The strongest signs that the collection speaks of what was asked. Vectors always have neighbours and
/// most questions share some word with most collections, so neither alone says much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relevance {
    /// The greatest share of the question's content words that any keyword hit holds, 0…1, rare words counting
    /// more. Any hit, not the first: a short passage may rank over one that holds more of the question.
    pub coverage: f32,
    /// The nearest passage's cosine, if vectors were searched.
    pub cosine: Option<f32>,
}

/// A passage this near answers even without a word in common (in another language, say). Of a hundred
/// out-of-scope questions one comes so near; `docs/RELEVANCE.md` has the distributions behind both constants.
const NEAR: f32 = 0.42;

/// Otherwise words and meaning must add up to this much.
const TOGETHER: f32 = 0.70;

/// What words alone must cover when vectors were not searched.
const WORDS_ALONE: f32 = 0.30;

impl Relevance {
    /// Reads both lists.
    #[must_use]
    pub fn of(keyword: Option<&KeywordHits>, vector: Option<&[VectorHit]>) -> Self {
        let coverage = keyword
            .map_or(0.0, |found| found.hits.iter().map(|hit| hit.coverage).fold(0.0, f32::max));
        let cosine =
            vector.and_then(|hits| hits.iter().map(|hit| hit.cosine).max_by(f32::total_cmp));
        Self { coverage, cosine }
    }

    /// Whether to answer from what was found.
    #[must_use]
    pub fn answers(&self) -> bool {
        match self.cosine {
            Some(cosine) => NEAR <= cosine || TOGETHER <= self.coverage + cosine,
            None => WORDS_ALONE <= self.coverage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(coverage: f32, cosine: Option<f32>, answers: bool) {
        assert_eq!(Relevance { coverage, cosine }.answers(), answers, "{coverage} {cosine:?}");
    }

    #[test]
    fn words_and_meaning_add_up_and_either_may_do_alone() {
        check(0.0, Some(0.43), true);
        check(0.5, Some(0.25), true);
        check(0.4, Some(0.25), false);
        check(0.9, Some(-0.1), true);
        check(0.0, Some(0.41), false);
    }

    #[test]
    fn without_vectors_words_decide() {
        check(0.3, None, true);
        check(0.29, None, false);
        check(0.0, None, false);
    }
}
