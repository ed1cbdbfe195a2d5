//! [`VectorDelays`]: making the vector search as slow as in the field, for tests and benches.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use domain::{Call, Fault, Filter, GenerationId, Neighbour, Vector, VectorIndex};
use simulator::{Draws, Key, Profile};

/// Delays drawn as a simulator draws them, so that all stages of a request have the luck of one key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VectorDelays(Draws);

impl VectorDelays {
    /// `vectors`, which answer only after the delay.
    pub(crate) fn before(self, vectors: Arc<dyn VectorIndex>) -> Arc<dyn VectorIndex> {
        Arc::new(Delayed { draws: self.0, vectors })
    }
}

impl FromStr for VectorDelays {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || format!("{text:?} is not PROFILE:SEED[:TIME-SCALE], such as field:1");
        let mut parts = text.split(':');
        let profile = match parts.next() {
            Some("zero") => Profile::Zero,
            Some("field") => Profile::Field,
            Some("heavy") => Profile::Heavy,
            _ => return Err(usage()),
        };
        let seed = parts.next().and_then(|seed| seed.parse().ok()).ok_or_else(usage)?;
        let scale = parts.next().map_or(Ok(1.0), str::parse).map_err(|_no_number| usage())?;
        match parts.next() {
            None => Ok(Self(Draws::new(seed, profile).time_scaled(scale))),
            Some(_) => Err(usage()),
        }
    }
}

struct Delayed {
    draws: Draws,
    vectors: Arc<dyn VectorIndex>,
}

impl fmt::Debug for Delayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delayed").field("vectors", &self.vectors).finish_non_exhaustive()
    }
}

#[async_trait]
impl VectorIndex for Delayed {
    /// What is as slow as a remote one has a remote one's share.
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
        let key = Key::request(call.request.as_str()).attempt(call.attempt);
        call.deadline.run(tokio::time::sleep(self.draws.vector(&key))).await?;
        self.vectors.nearest(generation, vector, filter, k, call).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_read_and_nonsense_is_refused() {
        assert_eq!("field:7".parse(), Ok(VectorDelays(Draws::new(7, Profile::Field))));
        for text in ["", "field", "field:x", "field:1:x", "field:1:2:3", "slow:1"] {
            assert!(text.parse::<VectorDelays>().is_err(), "{text}");
        }
    }
}
