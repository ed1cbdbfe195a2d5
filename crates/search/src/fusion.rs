//! One list from two: reciprocal rank fusion.

use std::collections::HashMap;
use std::sync::Arc;

use domain::{Hit, Language, Passage, PassageId};

use crate::{KeywordHit, VectorHit};

/// *k* of `weight / (k + rank)`. Ten, not the usual sixty: help centers are small and the first few
/// ranks carry most of what is right. `docs/RELEVANCE.md` has the figures of this file's constants.
const RANK_CONSTANT: f32 = 10.0;

/// The vector list weighs as much as the keyword list up to this coverage of the question's words…
const FULL_WEIGHT_UP_TO: f32 = 0.50;
/// …and nothing from this one on.
const NO_WEIGHT_FROM: f32 = 0.75;

/// What a passage in another language than the question's keeps of its score. Help centers repeat an
/// article per language; the reader's own goes first.
const OTHER_LANGUAGE: f32 = 0.6;

/// Fuses both lists (best first) into at most `k` hits, one per passage, best first. Equal scores are
/// ordered by passage id, so that equal input gives equal output.
#[must_use]
pub fn fuse(keyword: &[KeywordHit], vector: &[VectorHit], lang: Language, k: usize) -> Vec<Hit> {
    let mut hits: HashMap<PassageId, Hit> = HashMap::new();
    let vector_weight = vector_weight(keyword);
    for (rank, found) in keyword.iter().enumerate() {
        let hit = entry(&mut hits, &found.passage);
        hit.score += reciprocal(1.0, rank);
        hit.keyword_rank = Some(rank);
    }
    for (rank, found) in vector.iter().enumerate() {
        let hit = entry(&mut hits, &found.passage);
        hit.score += reciprocal(vector_weight, rank);
        hit.cosine = Some(found.cosine);
    }
    let mut hits: Vec<Hit> = hits.into_values().collect();
    for hit in &mut hits {
        if hit.passage.lang != lang {
            hit.score *= OTHER_LANGUAGE;
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.passage.id.cmp(&b.passage.id)));
    hits.truncate(k);
    hits
}

/// What the vector list weighs beside the keyword list. The more of the question's words the best keyword
/// hit holds, the less there is left for meaning to tell: questions in the words of the collection are
/// answered best by keywords alone, paraphrases by both.
fn vector_weight(keyword: &[KeywordHit]) -> f32 {
    let coverage = keyword.first().map_or(0.0, |best| best.coverage);
    ((NO_WEIGHT_FROM - coverage) / (NO_WEIGHT_FROM - FULL_WEIGHT_UP_TO)).clamp(0.0, 1.0)
}

fn entry<'a>(hits: &'a mut HashMap<PassageId, Hit>, passage: &Arc<Passage>) -> &'a mut Hit {
    hits.entry(passage.id).or_insert_with(|| Hit {
        passage: Arc::clone(passage),
        score: 0.0,
        keyword_rank: None,
        cosine: None,
    })
}

/// The share of a place, `rank` counting from 0.
fn reciprocal(weight: f32, rank: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "ranks stay far below 2^24")]
    let rank = rank as f32;
    weight / (RANK_CONSTANT + rank + 1.0)
}

#[cfg(test)]
mod tests {
    use domain::ArticleId;

    use super::*;

    fn passage(n: u8, lang: Language) -> Arc<Passage> {
        Arc::new(Passage {
            id: PassageId::from_bytes([n; 16]),
            article_id: ArticleId::new(n.to_string()),
            title: String::new(),
            headings: Vec::new(),
            url: None,
            lang,
            tags: Vec::new(),
            ordinal: 0,
            text: String::new(),
        })
    }

    /// Both lists as passage numbers; numbers from 100 are Japanese.
    #[track_caller]
    fn check(keyword: &[u8], vector: &[u8], k: usize, expected: &[u8]) {
        check_covered(0.0, keyword, vector, k, expected);
    }

    #[track_caller]
    fn check_covered(coverage: f32, keyword: &[u8], vector: &[u8], k: usize, expected: &[u8]) {
        let of = |n: &u8| passage(*n, if *n < 100 { Language::ENGLISH } else { Language::JAPANESE });
        let keyword: Vec<_> = keyword
            .iter()
            .map(|n| KeywordHit { passage: of(n), score: 1.0, coverage })
            .collect();
        let vector: Vec<_> =
            vector.iter().map(|n| VectorHit { passage: of(n), cosine: 0.5 }).collect();
        let hits = fuse(&keyword, &vector, Language::ENGLISH, k);
        let found: Vec<u8> = hits.iter().map(|hit| hit.passage.id.as_bytes()[0]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_passage_in_both_lists_wins_over_the_first_of_either() {
        check(&[1, 2], &[3, 2], 10, &[2, 1, 3]);
    }

    #[test]
    fn one_list_keeps_its_order() {
        check(&[3, 1, 2], &[], 10, &[3, 1, 2]);
        check(&[], &[3, 1, 2], 10, &[3, 1, 2]);
    }

    #[test]
    fn the_better_the_words_cover_the_question_the_less_vectors_weigh() {
        check_covered(0.2, &[1, 2, 3], &[9, 3, 8], 1, &[3]);
        check_covered(1.0, &[1, 2, 3], &[9, 3, 8], 1, &[1]);
    }

    #[test]
    fn no_more_than_k_and_never_one_twice() {
        check(&[1, 2, 3], &[3, 2, 1], 2, &[1, 3]);
    }

    #[test]
    fn the_readers_language_goes_first() {
        check(&[101, 1], &[101, 1], 10, &[1, 101]);
        // Unless it is far behind.
        check(&[101, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1], &[], 1, &[2]);
    }
}
