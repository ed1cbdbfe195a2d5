//! What searches return.

use std::sync::Arc;

use crate::{Passage, PassageId};

/// One result of a vector search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    pub passage: PassageId,
    /// Cosine of the angle between question and passage, −1…1; larger is nearer.
    pub cosine: f32,
}

/// A passage that may answer the question, best first in every list.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub passage: Arc<Passage>,
    /// Comparable within one list only.
    pub score: f32,
    /// Rank among the keyword hits, from 0, if it was one.
    pub keyword_rank: Option<usize>,
    /// Cosine to the question, if the vector search returned it.
    pub cosine: Option<f32>,
}
