//! nDCG@10, Recall@5 and MRR@10 at the level of articles.

use std::collections::BTreeMap;

use serde::Serialize;

use super::formats::{Qrels, Run};

const DEPTH: usize = 10;
const RECALL_DEPTH: usize = 5;

/// Means over the questions that have a right answer; one without results counts as zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Metrics {
    pub(crate) queries: usize,
    pub(crate) ndcg10: f64,
    pub(crate) recall5: f64,
    pub(crate) mrr10: f64,
}

/// Scores `run`. The gain of an article is its grade, its discount `log2(rank + 1)` (ranks from 1).
pub(crate) fn score(qrels: &Qrels, run: &Run) -> Metrics {
    let mut sums = [0.0; 3];
    let mut queries = 0;
    for (query, grades) in qrels {
        let right: BTreeMap<&str, f64> = grades
            .iter()
            .filter(|(_, grade)| **grade > 0)
            .map(|(article, grade)| (article.as_str(), f64::from(*grade)))
            .collect();
        if right.is_empty() {
            continue;
        }
        queries += 1;
        let found = run.get(query).map_or(&[][..], Vec::as_slice);
        let gains: Vec<f64> = found
            .iter()
            .take(DEPTH)
            .map(|article| right.get(article.as_str()).copied().unwrap_or(0.0))
            .collect();
        sums[0] += ndcg(&gains, &right);
        sums[1] += recall(&gains, right.len());
        sums[2] += reciprocal_rank(&gains);
    }
    let [ndcg10, recall5, mrr10] = sums.map(|sum| sum / as_f64(queries.max(1)));
    Metrics { queries, ndcg10, recall5, mrr10 }
}

fn ndcg(gains: &[f64], right: &BTreeMap<&str, f64>) -> f64 {
    let mut ideal: Vec<f64> = right.values().copied().collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    ideal.truncate(DEPTH);
    discounted(gains) / discounted(&ideal)
}

fn discounted(gains: &[f64]) -> f64 {
    gains.iter().enumerate().map(|(place, gain)| gain / as_f64(place + 2).log2()).sum()
}

fn recall(gains: &[f64], right: usize) -> f64 {
    as_f64(gains.iter().take(RECALL_DEPTH).filter(|gain| **gain > 0.0).count()) / as_f64(right)
}

fn reciprocal_rank(gains: &[f64]) -> f64 {
    gains.iter().position(|gain| *gain > 0.0).map_or(0.0, |place| 1.0 / as_f64(place + 1))
}

#[expect(clippy::cast_precision_loss, reason = "counts of questions and ranks are small")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qrels(rows: &[(&str, &str, u32)]) -> Qrels {
        let mut qrels = Qrels::new();
        for (query, article, grade) in rows {
            qrels.entry((*query).to_owned()).or_default().insert((*article).to_owned(), *grade);
        }
        qrels
    }

    #[track_caller]
    fn check(rows: &[(&str, &str, u32)], found: &[(&str, &[&str])], expected: [f64; 3]) {
        let run = found
            .iter()
            .map(|(query, articles)| {
                (
                    (*query).to_owned(),
                    articles.iter().map(|article| (*article).to_owned()).collect(),
                )
            })
            .collect();
        let metrics = score(&qrels(rows), &run);
        for (found, expected) in
            [metrics.ndcg10, metrics.recall5, metrics.mrr10].iter().zip(expected)
        {
            assert!((found - expected).abs() < 1e-9, "{metrics:?} should be {expected:?}");
        }
    }

    #[test]
    fn a_perfect_ranking_scores_one() {
        check(&[("q", "a", 2), ("q", "b", 1)], &[("q", &["a", "b"])], [1.0, 1.0, 1.0]);
    }

    #[test]
    fn places_are_discounted_by_hand_computed_amounts() {
        // 1/log2(3) of an ideal 1; half of what is right among the first five; second place.
        let second = 1.0 / 3.0_f64.log2();
        check(&[("q", "a", 1)], &[("q", &["x", "a"])], [second, 1.0, 0.5]);
        // The grades are gains: 1 + 2/log2(3) of an ideal 2 + 1/log2(3).
        let swapped = (1.0 + 2.0 * second) / (2.0 + second);
        check(&[("q", "a", 2), ("q", "b", 1)], &[("q", &["b", "a"])], [swapped, 1.0, 1.0]);
    }

    #[test]
    fn a_question_without_results_counts_as_zero_and_one_without_answers_not_at_all() {
        check(&[("q", "a", 1), ("r", "a", 1), ("s", "a", 0)], &[("q", &["a"])], [0.5, 0.5, 0.5]);
    }

    #[test]
    fn depths_are_ten_and_five() {
        let places = ["1", "2", "3", "4", "5", "a", "7", "8", "9", "10", "b"];
        let ideal = 1.0 + 1.0 / 3.0_f64.log2();
        let found = 1.0 / 7.0_f64.log2();
        check(&[("q", "a", 1), ("q", "b", 1)], &[("q", &places)], [found / ideal, 0.0, 1.0 / 6.0]);
    }
}
