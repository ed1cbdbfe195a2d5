//! [`Holdings`]: what a collection holds, as it was when it was read.

use std::collections::HashMap;

use deadline::Deadline;
use domain::{Call, PassageId, Vector};
use qdrant_client::qdrant::vector_output::Vector as Found;
use qdrant_client::qdrant::{PointId, RetrievedPoint};

use crate::QdrantError;
use crate::collection::Collection;
use crate::point::{Held, point_id, uuid};

/// The points of one epoch, for whose passages nothing has to be embedded.
#[derive(Clone, Debug)]
pub struct Holdings {
    collection: Collection,
    points: Vec<Held>,
}

/// Points per call when vectors are read.
const BATCH: usize = 256;

impl Holdings {
    pub(crate) async fn read(
        collection: Collection,
        deadline: Deadline,
    ) -> Result<Self, QdrantError> {
        let foreign = || QdrantError::foreign(collection.name(), "a point without our fields");
        let points = collection.read_all(deadline).await?;
        let points: Option<Vec<Held>> = points.iter().map(Held::decode).collect();
        Ok(Self { points: points.ok_or_else(foreign)?, collection })
    }

    pub(crate) fn points(&self) -> &[Held] {
        &self.points
    }

    pub(crate) fn collection(&self) -> &Collection {
        &self.collection
    }

    /// The vectors of those `passages` that are held, closed ones included. They are as near to what was
    /// written as 32-bit numbers allow: Qdrant scales them to unit length once more.
    ///
    /// # Errors
    ///
    /// [`QdrantError`], if they cannot be read.
    pub async fn vectors_of(
        &self,
        passages: &[PassageId],
        call: &Call,
    ) -> Result<HashMap<PassageId, Vector>, QdrantError> {
        let held: HashMap<PassageId, PointId> =
            self.points.iter().map(|held| (held.passage, point_id(held.point))).collect();
        let ids: Vec<PointId> =
            passages.iter().filter_map(|passage| held.get(passage)).cloned().collect();
        let by_point: HashMap<_, _> =
            self.points.iter().map(|held| (held.point, held.passage)).collect();
        let mut vectors = HashMap::with_capacity(ids.len());
        for batch in ids.chunks(BATCH) {
            let found = self.collection.vectors(batch, call.deadline).await?;
            let of_passage = |found: RetrievedPoint| {
                Some((*by_point.get(&uuid(found.id.as_ref()?)?)?, vector(&found)?))
            };
            vectors.extend(found.into_iter().filter_map(of_passage));
        }
        Ok(vectors)
    }
}

fn vector(found: &RetrievedPoint) -> Option<Vector> {
    match found.vectors.as_ref()?.get_vector()? {
        Found::Dense(dense) => Vector::from_unit(dense.data),
        Found::Sparse(_) | Found::MultiDense(_) => None,
    }
}
