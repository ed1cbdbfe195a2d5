//! [`Best`]: the best few of many candidates, in bounded memory.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use domain::PassageId;

/// A row that may be among the nearest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) score: f32,
    pub(super) passage: PassageId,
    pub(super) row: u32,
}

/// Keeps the `limit` best candidates offered to it.
pub(super) struct Best {
    limit: usize,
    /// The worst one kept is on top.
    kept: BinaryHeap<Reverse<Candidate>>,
}

impl Best {
    pub(super) fn of(limit: usize) -> Self {
        Self { limit, kept: BinaryHeap::new() }
    }

    /// Whether a candidate with this score could still be kept; spares making it.
    pub(super) fn may_keep(&self, score: f32) -> bool {
        self.kept.len() < self.limit || self.kept.peek().is_some_and(|worst| score >= worst.0.score)
    }

    pub(super) fn offer(&mut self, candidate: Candidate) {
        self.kept.push(Reverse(candidate));
        if self.kept.len() > self.limit {
            self.kept.pop();
        }
    }

    /// What was kept, in no order.
    pub(super) fn into_candidates(self) -> impl Iterator<Item = Candidate> {
        self.kept.into_iter().map(|Reverse(candidate)| candidate)
    }
}

/// Greater is better: a higher score, or of equal scores the lower passage id.
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.passage.cmp(&self.passage))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_are_kept_in_every_order_of_offering(
            scores in prop::collection::vec(0_u8..20, 0..60), limit in 0_usize..30,
        ) {
            let candidates = scores.iter().zip(0_u8..).map(|(score, number)| Candidate {
                score: f32::from(*score),
                passage: PassageId::from_bytes([number; 16]),
                row: u32::from(number),
            });
            let mut best = Best::of(limit);
            for candidate in candidates.clone().filter(|_| limit > 0) {
                if best.may_keep(candidate.score) {
                    best.offer(candidate);
                }
            }
            let mut kept: Vec<_> = best.into_candidates().collect();
            kept.sort_unstable_by_key(|candidate| Reverse(*candidate));
            let mut all: Vec<_> = candidates.collect();
            all.sort_unstable_by_key(|candidate| Reverse(*candidate));
            all.truncate(limit);
            prop_assert_eq!(kept, all);
        }
    }
}
