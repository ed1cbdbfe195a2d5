//! [`Heard`]: whether others know that this server still answers, and vectors that depend on it.
//!
//! Who was not heard of for [`SILENCE`] holds up no sweep. A server that the catalog does not hear, though others do,
//! may so find a part of its vectors gone, and a part looks like a whole. So it leaves them alone, unless a count has
//! just found all of them there, as it does while the catalog is away for everybody.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use domain::{Call, Fault, FaultKind, Filter, GenerationId, Neighbour, Vector, VectorIndex};
use ingest::SILENCE;
use thiserror::Error;
use tokio::time::Instant;

/// How long a count is believed: a few looks at Qdrant.
const COUNT_HOLDS: Duration = Duration::from_secs(15);

/// When this server was last heard of. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Heard(Arc<Mutex<Moments>>);

#[derive(Debug)]
struct Moments {
    heard: Instant,
    /// When all vectors in use were last found in their place.
    counted: Option<Instant>,
}

impl Moments {
    fn is_silent(&self, now: Instant) -> bool {
        now.duration_since(self.heard) >= SILENCE
    }

    fn may_be_swept(&self, now: Instant) -> bool {
        let is_counted = self.counted.is_some_and(|at| now.duration_since(at) < COUNT_HOLDS);
        self.is_silent(now) && !is_counted
    }
}

impl Heard {
    /// A server that starts has just looked at what there is.
    pub(crate) fn now() -> Self {
        Self(Arc::new(Mutex::new(Moments { heard: Instant::now(), counted: None })))
    }

    /// The catalog has taken what this server said at `said`.
    pub(crate) fn at(&self, said: Instant) {
        self.moments().heard = said;
    }

    /// All vectors in use are there.
    pub(crate) fn counted(&self) {
        self.moments().counted = Some(Instant::now());
    }

    /// Whether others may have taken this server for gone.
    pub(crate) fn is_silent(&self) -> bool {
        self.moments().is_silent(Instant::now())
    }

    /// `vectors`, which others sweep, for as long as they are known to be whole.
    pub(crate) fn guard(&self, vectors: Arc<dyn VectorIndex>) -> Arc<dyn VectorIndex> {
        Arc::new(Guarded { heard: self.clone(), vectors })
    }

    // Whole between any two statements, so a poisoned lock changes nothing.
    fn moments(&self) -> MutexGuard<'_, Moments> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Guarded {
    heard: Heard,
    vectors: Arc<dyn VectorIndex>,
}

/// Vectors that may be there in part.
#[derive(Debug, Error)]
#[error(
    "the catalog has not heard of this server for {SILENCE:?}, so others may have swept its vectors"
)]
struct MayBeSwept;

#[async_trait]
impl VectorIndex for Guarded {
    fn is_remote(&self) -> bool {
        self.vectors.is_remote()
    }

    async fn nearest(
        &self,
        generation: &GenerationId,
        vector: &Vector,
        filter: &Filter,
        k: usize,
        call: &Call,
    ) -> Result<Vec<Neighbour>, Fault> {
        if self.heard.moments().may_be_swept(Instant::now()) {
            return Err(Fault::new(FaultKind::Unavailable, MayBeSwept));
        }
        self.vectors.nearest(generation, vector, filter, k, call).await
    }
}

#[cfg(test)]
mod tests {
    use deadline::Deadline;
    use domain::{AppName, PassageId};

    use super::*;

    #[derive(Debug)]
    struct One;

    #[async_trait]
    impl VectorIndex for One {
        async fn nearest(
            &self,
            _generation: &GenerationId,
            _vector: &Vector,
            _filter: &Filter,
            _k: usize,
            _call: &Call,
        ) -> Result<Vec<Neighbour>, Fault> {
            Ok(vec![Neighbour { passage: PassageId::from_bytes([1; 16]), cosine: 1.0 }])
        }
    }

    /// How many are found, or why none are.
    async fn found(vectors: &dyn VectorIndex) -> Result<usize, FaultKind> {
        let generation = GenerationId { app: AppName::default_app(), epoch: 1, number: 1 };
        let vector = Vector::normalized(vec![1.0]).unwrap();
        let call = Call::background("test", Deadline::after(Duration::from_secs(1)));
        let found = vectors.nearest(&generation, &vector, &Filter::default(), 1, &call).await;
        found.map(|found| found.len()).map_err(|fault| fault.kind())
    }

    #[tokio::test]
    async fn vectors_rest_while_others_may_sweep_them() {
        let now = Instant::now();
        let (ago, almost) = (now.checked_sub(SILENCE), now.checked_sub(SILENCE / 2));
        let (ago, almost) = (ago.expect("the clock is older"), almost.expect("older"));
        let heard = Heard::now();
        let vectors = heard.guard(Arc::new(One));
        assert_eq!(found(&*vectors).await, Ok(1));
        // What was said counts from when it was said, not from when it arrived.
        heard.at(ago);
        assert_eq!(found(&*vectors).await, Err(FaultKind::Unavailable));
        heard.at(almost);
        assert_eq!(found(&*vectors).await, Ok(1));
        heard.at(ago);
        heard.counted();
        assert_eq!(found(&*vectors).await, Ok(1));
    }

    #[test]
    fn a_count_stands_in_for_a_catalog_that_is_away_and_for_no_longer_than_it_holds() {
        let start = Instant::now();
        let mut moments = Moments { heard: start, counted: None };
        let (almost, silent) = (start + SILENCE - Duration::from_millis(1), start + SILENCE);
        assert_eq!([almost, silent].map(|now| moments.may_be_swept(now)), [false, true]);
        moments.counted = Some(silent);
        let over = silent + COUNT_HOLDS;
        assert_eq!([silent, over].map(|now| moments.may_be_swept(now)), [false, true]);
    }
}
