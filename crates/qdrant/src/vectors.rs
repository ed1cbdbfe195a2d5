//! [`QdrantVectors`]: one generation's vectors, searched in Qdrant.

use async_trait::async_trait;
use domain::{
    Call, EmbedderId, Fault, FaultKind, Filter, GenerationId, Neighbour, Vector, VectorIndex,
};
use qdrant_client::qdrant::with_payload_selector::SelectorOptions;
use qdrant_client::qdrant::{
    PayloadIncludeSelector, QueryPoints, ScoredPoint, WithPayloadSelector,
};
use thiserror::Error;

use crate::client::{ask, server_limit};
use crate::collection::Collection;
use crate::filter::admitted;
use crate::point::field;
use crate::{Qdrant, QdrantError};

/// The index of exactly one published generation.
#[derive(Clone, Debug)]
pub struct QdrantVectors {
    qdrant: Qdrant,
    collection: String,
    generation: GenerationId,
    dimensions: u32,
    passages: u64,
}

/// A question that this index cannot be asked, or that it has nothing to answer from.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IndexMismatch {
    /// It is another generation than the one asked for.
    #[error("generation {} of {} was asked for, this index is {} of {}", asked.number, asked.app, held.number, held.app)]
    Generation { asked: Box<GenerationId>, held: Box<GenerationId> },
    /// The vector comes from another model than the passages'.
    #[error("a vector of {asked} dimensions was asked for, the index has {held}")]
    Dimensions { asked: usize, held: u32 },
    /// The collection is there and the revision is not: restored from an older copy, or swept.
    #[error(
        "Qdrant holds no passages of revision {revision} in {collection}, though there are some"
    )]
    Revision { collection: String, revision: u64 },
}

/// How many more points are asked for than are wanted. Qdrant orders equal cosines as it likes; up to so many at
/// the last place are put in order of their passages here. Of longer ties the last ones are Qdrant's choice.
const SPARE: u64 = 16;

impl QdrantVectors {
    /// The index of `generation`, which holds `passages` passages with vectors of `embedder`'s. Nothing is
    /// called: Qdrant may be away, and may come back.
    #[must_use]
    pub fn new(
        qdrant: &Qdrant,
        generation: GenerationId,
        embedder: &EmbedderId,
        passages: u64,
    ) -> Self {
        Self {
            collection: qdrant.prefix().collection(&generation.app, generation.epoch),
            qdrant: qdrant.clone(),
            dimensions: embedder.dimensions,
            generation,
            passages,
        }
    }

    /// How many passages Qdrant has of the generation, which should be all.
    ///
    /// # Errors
    ///
    /// [`QdrantError`]; without a collection [`is_not_found`](QdrantError::is_not_found).
    pub async fn count(&self, call: &Call) -> Result<u64, QdrantError> {
        let collection = Collection::new(self.qdrant.clone(), self.collection.clone());
        let filter = admitted(self.generation.number, &Filter::default());
        collection.count(filter, call.deadline).await
    }

    /// Whether the collection is there and takes vectors of this length.
    ///
    /// # Errors
    ///
    /// [`QdrantError::OtherShape`], or [`is_not_found`](QdrantError::is_not_found).
    pub async fn check_collection(&self, call: &Call) -> Result<(), QdrantError> {
        let collection = Collection::new(self.qdrant.clone(), self.collection.clone());
        collection.check_shape(self.dimensions, call.deadline).await
    }

    fn check(&self, generation: &GenerationId, vector: &Vector) -> Result<(), Fault> {
        if *generation != self.generation {
            let (asked, held) = (Box::new(generation.clone()), Box::new(self.generation.clone()));
            let mismatch = IndexMismatch::Generation { asked, held };
            return Err(Fault::new(FaultKind::Unavailable, mismatch));
        }
        let (asked, held) = (vector.dimensions(), self.dimensions);
        if asked != held as usize {
            return Err(Fault::new(FaultKind::Error, IndexMismatch::Dimensions { asked, held }));
        }
        Ok(())
    }

    fn query(&self, vector: &Vector, filter: &Filter, k: u64, call: &Call) -> QueryPoints {
        let include = PayloadIncludeSelector { fields: vec![field::PASSAGE.to_owned()] };
        QueryPoints {
            collection_name: self.collection.clone(),
            query: Some(vector.as_slice().to_vec().into()),
            filter: Some(admitted(self.generation.number, filter)),
            limit: Some(k.saturating_add(SPARE)),
            with_payload: Some(WithPayloadSelector {
                selector_options: Some(SelectorOptions::Include(include)),
            }),
            timeout: Some(server_limit(call.deadline)),
            ..QueryPoints::default()
        }
    }

    fn neighbour(&self, found: &ScoredPoint) -> Result<Neighbour, QdrantError> {
        let passage =
            found.payload.get(field::PASSAGE).and_then(|value| value.as_str()?.parse().ok());
        let foreign = || QdrantError::foreign(&self.collection, "a point without a passage");
        Ok(Neighbour { passage: passage.ok_or_else(foreign)?, cosine: found.score })
    }

    /// With nothing filtered out, nothing found means that nothing is there.
    fn check_found(&self, found: &[ScoredPoint], filter: &Filter) -> Result<(), Fault> {
        if !found.is_empty() || !filter.is_empty() || self.passages == 0 {
            return Ok(());
        }
        let (collection, revision) = (self.collection.clone(), self.generation.number);
        Err(Fault::new(FaultKind::Unavailable, IndexMismatch::Revision { collection, revision }))
    }
}

#[async_trait]
impl VectorIndex for QdrantVectors {
    fn is_remote(&self) -> bool {
        true
    }

    async fn nearest(
        &self,
        generation: &GenerationId,
        vector: &Vector,
        filter: &Filter,
        k: usize,
        call: &Call,
    ) -> Result<Vec<Neighbour>, Fault> {
        self.check(generation, vector)?;
        if k == 0 {
            return Ok(Vec::new());
        }
        // The server reserves room for as many as are asked for.
        let at_most = u64::try_from(k).unwrap_or(u64::MAX).min(self.passages);
        let mut points = self.qdrant.points();
        let query = points.query(self.query(vector, filter, at_most, call));
        let found = ask("search", call.deadline, query).await?.result;
        self.check_found(&found, filter)?;
        let neighbours = found.iter().map(|found| self.neighbour(found));
        let mut neighbours = neighbours.collect::<Result<Vec<_>, _>>()?;
        neighbours.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.passage.cmp(&b.passage)));
        neighbours.truncate(k);
        Ok(neighbours)
    }
}
