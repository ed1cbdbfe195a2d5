//! [`EmbeddedVectors`]: a vector file as the index of one generation.

use std::sync::Arc;

use async_trait::async_trait;
use deadline::{CancelFlag, CpuPool};
use domain::{Call, Fault, FaultKind, Filter, GenerationId, Neighbour, Vector, VectorIndex};
use thiserror::Error;

use super::file::VectorFile;

/// The embedded index of exactly one generation; searches run on the pool.
#[derive(Clone, Debug)]
pub struct EmbeddedVectors {
    generation: GenerationId,
    file: Arc<VectorFile>,
    pool: CpuPool,
}

/// A question that this index cannot be asked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IndexMismatch {
    /// It holds another generation than the one asked for.
    #[error("generation {} of {} was asked for, {} of {} is loaded", asked.number, asked.app, held.number, held.app)]
    Generation { asked: Box<GenerationId>, held: Box<GenerationId> },
    /// The vector comes from another model than the passages'.
    #[error("a vector of {asked} dimensions was asked for, the index has {held}")]
    Dimensions { asked: usize, held: u32 },
}

/// So many vectors are scanned in less than [`deadline::BRIEF`].
const BRIEFLY_SCANNED: usize = 4_000;

impl EmbeddedVectors {
    /// Serves `file` as `generation`.
    #[must_use]
    pub fn new(generation: GenerationId, file: Arc<VectorFile>, pool: CpuPool) -> Self {
        Self { generation, file, pool }
    }

    fn check(&self, generation: &GenerationId, vector: &Vector) -> Result<(), Fault> {
        if *generation != self.generation {
            let (asked, held) = (Box::new(generation.clone()), Box::new(self.generation.clone()));
            return Err(Fault::new(
                FaultKind::Unavailable,
                IndexMismatch::Generation { asked, held },
            ));
        }
        let (asked, held) = (vector.dimensions(), self.file.embedder().dimensions);
        if asked != held as usize {
            return Err(Fault::new(FaultKind::Error, IndexMismatch::Dimensions { asked, held }));
        }
        Ok(())
    }
}

#[async_trait]
impl VectorIndex for EmbeddedVectors {
    async fn nearest(
        &self,
        generation: &GenerationId,
        vector: &Vector,
        filter: &Filter,
        k: usize,
        call: &Call,
    ) -> Result<Vec<Neighbour>, Fault> {
        self.check(generation, vector)?;
        let (file, vector, filter) = (Arc::clone(&self.file), vector.clone(), filter.clone());
        let brief = file.len() <= BRIEFLY_SCANNED;
        let scan = move |cancel: &CancelFlag| file.nearest(&vector, &filter, k, cancel);
        Ok(if brief {
            self.pool.run_brief(call.deadline, scan).await?
        } else {
            self.pool.run(call.deadline, scan).await?
        })
    }
}
