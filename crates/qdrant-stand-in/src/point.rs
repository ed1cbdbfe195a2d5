//! [`Point`], its name, and the vectors and payloads on the wire.

use std::collections::HashMap;
use std::fmt;

use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::vector::Vector as OfInput;
use qdrant_client::qdrant::vectors::VectorsOptions;
use qdrant_client::qdrant::with_payload_selector::SelectorOptions as PayloadOptions;
use qdrant_client::qdrant::with_vectors_selector::SelectorOptions as VectorOptions;
use qdrant_client::qdrant::{
    DenseVector, PointId, Value, VectorOutput, Vectors, VectorsOutput, WithPayloadSelector,
    WithVectorsSelector, vector_output, vectors_output,
};
use tonic::Status;
use uuid::Uuid;

use crate::service::{invalid, unknown};

pub(crate) type Payload = HashMap<String, Value>;

/// What a point is called; numbers come before UUIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    Number(u64),
    Uuid(Uuid),
}

#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) payload: Payload,
    /// Of unit length.
    pub(crate) vector: Vec<f32>,
}

impl Name {
    pub(crate) fn of(id: Option<&PointId>) -> Result<Self, Status> {
        let id = id.and_then(|id| id.point_id_options.as_ref());
        match id.ok_or_else(|| invalid("no point id"))? {
            PointIdOptions::Num(number) => Ok(Self::Number(*number)),
            PointIdOptions::Uuid(text) => match text.parse() {
                Ok(uuid) => Ok(Self::Uuid(uuid)),
                Err(_) => Err(invalid(&format!("Unable to parse UUID: {text}"))),
            },
        }
    }

    pub(crate) fn to_id(self) -> PointId {
        match self {
            Self::Number(number) => number.into(),
            Self::Uuid(uuid) => uuid.to_string().into(),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Uuid(uuid) => uuid.fmt(f),
        }
    }
}

/// The one vector without a name.
pub(crate) fn vector_of(vectors: Option<Vectors>) -> Result<Vec<f32>, Status> {
    match vectors.and_then(|vectors| vectors.vectors_options) {
        Some(VectorsOptions::Vector(vector)) => match vector.vector {
            Some(OfInput::Dense(dense)) => Ok(dense.data),
            _ => Err(unknown("vectors that are not dense")),
        },
        Some(VectorsOptions::Vectors(_)) => Err(unknown("named vectors")),
        None => Err(invalid("a point without a vector")),
    }
}

/// Scaled to unit length, as for a cosine; a vector of no length stays as it is.
pub(crate) fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    // One that was scaled before does not change by being scaled again.
    if length > 0.0 && (length - 1.0).abs() > 1e-6 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a ratio of f32 values fits f32 again"
        )]
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
    vector
}

pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// As much of a payload as a call wants to see; without a wish, nothing.
pub(crate) fn shown(
    payload: &Payload,
    wish: Option<&WithPayloadSelector>,
) -> Result<Payload, Status> {
    match wish.and_then(|wish| wish.selector_options.as_ref()) {
        None | Some(PayloadOptions::Enable(false)) => Ok(Payload::new()),
        Some(PayloadOptions::Enable(true)) => Ok(payload.clone()),
        Some(PayloadOptions::Include(include)) => {
            let wanted = payload.iter().filter(|(name, _)| include.fields.contains(name));
            Ok(wanted.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        Some(PayloadOptions::Exclude(_)) => Err(unknown("payloads less some fields")),
    }
}

/// The vector, if a call wants to see it.
pub(crate) fn seen(
    vector: &[f32],
    wish: Option<&WithVectorsSelector>,
) -> Result<Option<VectorsOutput>, Status> {
    match wish.and_then(|wish| wish.selector_options.as_ref()) {
        None | Some(VectorOptions::Enable(false)) => Ok(None),
        Some(VectorOptions::Enable(true)) => {
            let dense = vector_output::Vector::Dense(DenseVector { data: vector.to_vec() });
            let output = VectorOutput { vector: Some(dense), ..VectorOutput::default() };
            let options = vectors_output::VectorsOptions::Vector(output);
            Ok(Some(VectorsOutput { vectors_options: Some(options) }))
        }
        Some(VectorOptions::Include(_)) => Err(unknown("named vectors")),
    }
}
