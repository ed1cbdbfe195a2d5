//! What retrieval has brought in, and what it comes to.

use domain::{Hit, Language};
use search::{KeywordHits, Relevance, VectorHit, fuse};

/// The searches' results as they land.
#[derive(Debug, Default)]
pub(crate) struct Retrieved {
    pub(crate) keyword: Option<KeywordHits>,
    pub(crate) vector: Option<Vec<VectorHit>>,
}

/// The hits in hand, best first, and whether they answer at all.
#[derive(Debug)]
pub(crate) struct Fused {
    pub(crate) hits: Vec<Hit>,
    pub(crate) answerable: bool,
}

impl Retrieved {
    /// One list from both searches, at most `top_k` long.
    pub(crate) fn fuse(&self, lang: Language, top_k: usize) -> Fused {
        let keyword = self.keyword.as_ref();
        let vector = self.vector.as_deref();
        let relevance = Relevance::of(keyword, vector);
        let hits =
            fuse(keyword.map_or(&[], |found| &found.hits), vector.unwrap_or_default(), lang, top_k);
        Fused { answerable: !hits.is_empty() && relevance.answers(), hits }
    }
}
