//! [`Draft`]: the next revision, being written beside the published one.

use std::collections::HashMap;

use deadline::Deadline;
use domain::{Call, Filter, Passage, PassageId, Vector};
use qdrant_client::qdrant::PointStruct;

use crate::collection::these;
use crate::filter::admitted;
use crate::point::{Held, encode, point_id, stored};
use crate::{Holdings, QdrantError};

/// A revision that nobody asks for yet. Given up at any moment, it leaves the published ones as they are, and
/// the next draft clears away what it has written.
#[derive(Debug)]
pub struct Draft {
    holdings: Holdings,
    revision: u64,
    dimensions: u32,
}

/// What a draft did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Passages that were not in the revision before, or with other tags.
    pub added: u64,
    /// Points of the revision before that end with this one.
    pub closed: u64,
    /// Passages that stay as they are; nothing was sent for them.
    pub kept: u64,
}

/// Points per call: at 512 dimensions half a megabyte.
const BATCH: usize = 256;

impl Draft {
    pub(crate) fn new(holdings: Holdings, revision: u64, dimensions: u32) -> Self {
        Self { holdings, revision, dimensions }
    }

    /// What the epoch holds. Vectors of passages that come back, or whose tags have changed, are there.
    #[must_use]
    pub fn holdings(&self) -> &Holdings {
        &self.holdings
    }

    /// Those of `passages` that [`write`](Self::write) will want vectors for; for the others nothing needs to
    /// be sent or embedded.
    #[must_use]
    pub fn wanted<'a>(&self, passages: &'a [Passage]) -> Vec<&'a Passage> {
        let open = self.open();
        passages.iter().filter(|passage| standing(&open, passage).is_none()).collect()
    }

    /// Makes the revision hold exactly `passages`, all of them given, and counts it. `vectors` has those of
    /// the [`wanted`](Self::wanted) ones; others in it are ignored.
    ///
    /// # Errors
    ///
    /// [`QdrantError`]; the revision must not be published then.
    pub async fn write(
        self,
        passages: &[Passage],
        vectors: &HashMap<PassageId, Vector>,
        call: &Call,
    ) -> Result<Written, QdrantError> {
        let wanted = self.wanted(passages);
        let surplus = self.surplus(passages);
        self.add(&wanted, vectors, call.deadline).await?;
        self.close(&surplus, call.deadline).await?;
        self.verify(passages, call.deadline).await?;
        let added = count(wanted.len());
        Ok(Written { added, closed: count(surplus.len()), kept: count(passages.len()) - added })
    }

    /// Open points by passage.
    fn open(&self) -> HashMap<PassageId, &Held> {
        let open = self.holdings.points().iter().filter(|held| held.is_open());
        open.map(|held| (held.passage, held)).collect()
    }

    /// Open points that do not stand for any of `passages`: those of passages that are gone or have other tags
    /// now, and twins, should there be any.
    fn surplus(&self, passages: &[Passage]) -> Vec<&Held> {
        let open = self.open();
        let staying: HashMap<_, _> = passages
            .iter()
            .filter_map(|passage| standing(&open, passage))
            .map(|held| (held.point, held))
            .collect();
        let all = self.holdings.points().iter();
        all.filter(|held| held.is_open() && !staying.contains_key(&held.point)).collect()
    }

    async fn add(
        &self,
        wanted: &[&Passage],
        vectors: &HashMap<PassageId, Vector>,
        deadline: Deadline,
    ) -> Result<(), QdrantError> {
        for batch in wanted.chunks(BATCH) {
            let points = batch.iter().map(|passage| self.point(passage, vectors));
            let points = points.collect::<Result<_, _>>()?;
            self.holdings.collection().upsert(points, deadline).await?;
        }
        Ok(())
    }

    fn point(
        &self,
        passage: &Passage,
        vectors: &HashMap<PassageId, Vector>,
    ) -> Result<PointStruct, QdrantError> {
        let id = passage.id;
        let vector = vectors.get(&id).ok_or(QdrantError::MissingVector { passage: id })?;
        let (found, expected) = (vector.dimensions(), self.dimensions);
        if found != expected as usize {
            return Err(QdrantError::Dimensions { passage: id, found, expected });
        }
        Ok(encode(passage, self.revision, vector))
    }

    async fn close(&self, surplus: &[&Held], deadline: Deadline) -> Result<(), QdrantError> {
        for batch in surplus.chunks(BATCH) {
            let points = these(batch.iter().map(|held| point_id(held.point)));
            self.holdings.collection().end(points, stored(self.revision), deadline).await?;
        }
        Ok(())
    }

    async fn verify(&self, passages: &[Passage], deadline: Deadline) -> Result<(), QdrantError> {
        let collection = self.holdings.collection();
        let found = collection.count(admitted(self.revision, &Filter::default()), deadline).await?;
        let expected = count(passages.len());
        if found == expected {
            return Ok(());
        }
        let (collection, revision) = (collection.name().to_owned(), self.revision);
        Err(QdrantError::Incomplete { collection, revision, found, expected })
    }
}

/// The open point that stands for `passage` already.
fn standing<'a>(open: &HashMap<PassageId, &'a Held>, passage: &Passage) -> Option<&'a Held> {
    open.get(&passage.id).copied().filter(|held| held.stands_for(passage))
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
