//! One list from two: reciprocal rank fusion, weighed by how much the words leave open.
//!
//! `docs/RELEVANCE.md` has the figures behind every constant here.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use domain::{ArticleId, Hit, Language, Passage, PassageId};

use crate::{KeywordHit, VectorHit};

/// *k* of `weight / (k + rank)`. Ten, not the usual sixty: help centers are small and the first few
/// ranks carry most of what is right.
const RANK_CONSTANT: f32 = 10.0;

/// The vector list weighs as much as the keyword list up to this coverage of the question's words…
const FULL_WEIGHT_UP_TO: f32 = 0.60;
/// …and least from this one on.
const LEAST_WEIGHT_FROM: f32 = 0.65;

/// That least weight, per language of the question. Questions in English are short, and a passage has all
/// their words by chance; a Japanese question whose words one passage covers has mostly been answered.
const LEAST_WEIGHT: f32 = 0.50;
const LEAST_WEIGHT_JAPANESE: f32 = 0.0;

/// What passages in another language than the question's lose before either list is ranked: help centers
/// repeat an article per language, and the reader's own goes first unless the other is plainly nearer.
const OTHER_LANGUAGE_SCORE: f32 = 0.8;
const OTHER_LANGUAGE_COSINE: f32 = 0.08;

/// What a passage gains from its article's next best passages: an article that answers tends to do so in
/// more than one place.
const SUPPORT: [f32; 2] = [0.10, 0.05];

/// Fuses both lists (best first) into at most `k` hits, one per passage, best first. Equal scores are
/// ordered by passage id, so that equal input gives equal output.
#[must_use]
pub fn fuse(keyword: &[KeywordHit], vector: &[VectorHit], lang: Language, k: usize) -> Vec<Hit> {
    let keyword = ranked(keyword, |hit| {
        let share = if hit.passage.lang == lang { 1.0 } else { OTHER_LANGUAGE_SCORE };
        hit.score * share
    });
    let vector = ranked(vector, |hit| {
        let loss = if hit.passage.lang == lang { 0.0 } else { OTHER_LANGUAGE_COSINE };
        hit.cosine - loss
    });
    // Of the list as just ranked: with the reader's language first, its best is not always the search's.
    let coverage = keyword.first().map_or(0.0, |best| best.coverage);
    let vector_weight = vector_weight(coverage, lang);
    let mut hits: HashMap<PassageId, Hit> = HashMap::new();
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
    hits.sort_by(best_first);
    support(&mut hits);
    hits.sort_by(best_first);
    hits.truncate(k);
    hits
}

fn best_first(a: &Hit, b: &Hit) -> Ordering {
    b.score.total_cmp(&a.score).then_with(|| a.passage.id.cmp(&b.passage.id))
}

/// `hits` by `score`, the highest first; equal ones keep their order.
fn ranked<T>(hits: &[T], score: impl Fn(&T) -> f32) -> Vec<&T> {
    let mut hits: Vec<&T> = hits.iter().collect();
    hits.sort_by(|a, b| score(b).total_cmp(&score(a)));
    hits
}

/// What the vector list weighs beside the keyword list, by the `coverage` of the first keyword hit after
/// re-ranking. The more of the question's words that one holds, the less there is left for meaning to tell:
/// questions in the words of the collection are answered best by keywords alone, paraphrases by both.
fn vector_weight(coverage: f32, lang: Language) -> f32 {
    let least = if lang == Language::JAPANESE { LEAST_WEIGHT_JAPANESE } else { LEAST_WEIGHT };
    let open = (LEAST_WEIGHT_FROM - coverage) / (LEAST_WEIGHT_FROM - FULL_WEIGHT_UP_TO);
    open.clamp(least, 1.0)
}

/// Lets the best passage of each article gain from the ones behind it; `hits` are best first.
fn support(hits: &mut [Hit]) {
    let mut places: HashMap<ArticleId, Vec<usize>> = HashMap::new();
    for (place, hit) in hits.iter().enumerate() {
        places.entry(hit.passage.article_id.clone()).or_default().push(place);
    }
    for places in places.values() {
        let [best, others @ ..] = places.as_slice() else { continue };
        let gain: f32 =
            others.iter().zip(SUPPORT).map(|(other, share)| share * hits[*other].score).sum();
        hits[*best].score += gain;
    }
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

    /// Both lists as passage numbers, each of an article of its own; numbers from 100 are Japanese.
    /// Neighbours in a list are a hundredth apart.
    #[track_caller]
    fn check(keyword: &[u8], vector: &[u8], k: usize, expected: &[u8]) {
        let of =
            |n: &u8| passage(*n, if *n < 100 { Language::ENGLISH } else { Language::JAPANESE });
        let falling = || (0_u8..).map(|place| 1.0 - f32::from(place) / 100.0);
        let keyword: Vec<_> = keyword
            .iter()
            .zip(falling())
            .map(|(n, score)| KeywordHit { passage: of(n), score, coverage: 0.0 })
            .collect();
        let vector: Vec<_> = vector
            .iter()
            .zip(falling())
            .map(|(n, cosine)| VectorHit { passage: of(n), cosine })
            .collect();
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
        let is =
            |coverage, lang, expected: f32| (vector_weight(coverage, lang) - expected).abs() < 1e-6;
        assert!(is(0.2, Language::JAPANESE, 1.0));
        assert!(is(0.9, Language::JAPANESE, LEAST_WEIGHT_JAPANESE));
        assert!(is(0.9, Language::ENGLISH, LEAST_WEIGHT));
        let between = vector_weight(0.625, Language::JAPANESE);
        assert!(LEAST_WEIGHT_JAPANESE < between && between < 1.0);
    }

    #[test]
    fn an_article_gains_from_its_other_passages() {
        let part = |n: u8, article: &str| {
            let mut passage = Passage::clone(&passage(n, Language::ENGLISH));
            passage.article_id = ArticleId::new(article);
            VectorHit { passage: Arc::new(passage), cosine: 1.0 - f32::from(n) / 100.0 }
        };
        // The runner-up's article stands twice more behind it.
        let vector = [part(1, "a"), part(2, "b"), part(3, "b"), part(4, "b")];
        let hits = fuse(&[], &vector, Language::ENGLISH, 4);
        assert_eq!(hits[0].passage.article_id.as_str(), "b");
    }

    #[test]
    fn no_more_than_k_and_never_one_twice() {
        check(&[1, 2, 3], &[3, 2, 1], 2, &[1, 3]);
    }

    #[test]
    fn the_readers_language_goes_first() {
        check(&[101, 1], &[101, 1], 10, &[1, 101]);
        // Unless the other is plainly nearer.
        check(&[], &[101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 1], 1, &[101]);
    }
}
