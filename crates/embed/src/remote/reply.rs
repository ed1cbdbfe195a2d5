//! What every reply must hold.

use std::time::Duration;

use domain::{Fault, FaultKind, Vector};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;
use upstream::fault_of_error_json;

/// A reply that is not the vectors that were asked for.
#[derive(Debug, Error)]
pub enum ReplyError {
    #[error("the reply is not the JSON it should be")]
    Malformed(#[source] serde_json::Error),
    #[error("there are {found} vectors for {expected} texts")]
    Count { found: usize, expected: usize },
    #[error("the vectors are not numbered from 0 on, one each")]
    Numbering,
    #[error("a vector has {found} dimensions instead of {expected}")]
    Dimensions { found: usize, expected: u32 },
    #[error("a vector has no direction")]
    NoDirection,
    #[error("a vector is not base64 of 32-bit numbers")]
    Encoding,
}

impl From<ReplyError> for Fault {
    fn from(error: ReplyError) -> Self {
        let passing = matches!(error, ReplyError::Malformed(_));
        let fault = Self::new(FaultKind::Error, error);
        // What a proxy put in the way may be gone next time; a model of the wrong size stays so.
        if passing { fault.passing(Duration::ZERO) } else { fault }
    }
}

/// Reads a reply's body; an error in place of the vectors is the fault that it is.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(body).map_err(|error| match serde_json::from_slice::<Value>(body) {
        Ok(json) if json.get("error").is_some() => fault_of_error_json(&json),
        _ => ReplyError::Malformed(error).into(),
    })
}

/// Vectors of `dimensions` from their components, one for each of `expected` texts.
pub(super) fn vectors(
    components: Vec<Vec<f32>>,
    expected: usize,
    dimensions: u32,
) -> Result<Vec<Vector>, ReplyError> {
    if components.len() != expected {
        return Err(ReplyError::Count { found: components.len(), expected });
    }
    components.into_iter().map(|components| vector(components, dimensions)).collect()
}

fn vector(components: Vec<f32>, expected: u32) -> Result<Vector, ReplyError> {
    let found = components.len();
    if u32::try_from(found) != Ok(expected) {
        return Err(ReplyError::Dimensions { found, expected });
    }
    Vector::normalized(components).ok_or(ReplyError::NoDirection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_that_are_not_what_was_asked_for_are_refused() {
        let one = || vec![vec![3.0, 4.0]];
        assert_eq!(vectors(one(), 1, 2).unwrap()[0].as_slice(), [0.6, 0.8], "of unit length");
        assert!(matches!(vectors(one(), 2, 2), Err(ReplyError::Count { found: 1, expected: 2 })));
        assert!(matches!(
            vectors(one(), 1, 3),
            Err(ReplyError::Dimensions { found: 2, expected: 3 })
        ));
        assert!(matches!(vectors(vec![vec![0.0, 0.0]], 1, 2), Err(ReplyError::NoDirection)));
    }

    #[test]
    fn an_error_in_place_of_vectors_is_told_from_nonsense() {
        let fault = parse::<Vec<f32>>(br#"{"error": {"code": 429, "message": "m"}}"#).unwrap_err();
        assert_eq!(fault.kind(), FaultKind::RateLimited);
        let fault = parse::<Vec<f32>>(b"<html>").unwrap_err();
        assert_eq!((fault.kind(), fault.retry_after()), (FaultKind::Error, Some(Duration::ZERO)));
    }
}
