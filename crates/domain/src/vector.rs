//! [`Vector`] and the embedder it comes from.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A text's place in an embedder's space, of unit length (so a dot product is a cosine).
#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Vec<f32>);

impl Vector {
    /// Scales `values` to unit length. A zero or non-finite vector has no direction: `None`.
    #[must_use]
    pub fn normalized(mut values: Vec<f32>) -> Option<Self> {
        let length = values.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        if !length.is_finite() || length == 0.0 {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a ratio of f32 values fits f32 again"
        )]
        values.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
        Some(Self(values))
    }

    /// Takes `values` as they are if they are of unit length (within a thousandth), so that a stored vector
    /// comes back bit for bit.
    #[must_use]
    pub fn from_unit(values: Vec<f32>) -> Option<Self> {
        let square: f64 = values.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        ((square - 1.0).abs() <= 2e-3).then_some(Self(values))
    }

    /// The direction halfway between two vectors of one space; `None` if they cancel out or do not match.
    #[must_use]
    pub fn halfway(&self, other: &Self) -> Option<Self> {
        if self.dimensions() != other.dimensions() {
            return None;
        }
        Self::normalized(self.0.iter().zip(&other.0).map(|(a, b)| a + b).collect())
    }

    /// The components, `dimensions` of them.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// How many components there are.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.0.len()
    }

    /// The cosine to `other`; zero if the spaces differ.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> f32 {
        if self.dimensions() != other.dimensions() {
            return 0.0;
        }
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }
}

/// Which model made a vector. Vectors of different ids are never compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EmbedderId {
    /// Provider and model, such as `local/use-m3-enja`.
    pub name: String,
    pub dimensions: u32,
}

impl EmbedderId {
    /// Whether the model runs in this process.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.name.starts_with("local/")
    }
}

impl fmt::Display for EmbedderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.dimensions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_vector_comes_back_bit_for_bit_and_others_are_refused() {
        let vector = Vector::normalized(vec![0.3, -0.7, 0.2]).unwrap();
        assert_eq!(Vector::from_unit(vector.as_slice().to_vec()), Some(vector));
        assert_eq!(Vector::from_unit(vec![1.0, 1.0]), None);
        assert_eq!(Vector::from_unit(vec![f32::NAN, 1.0]), None);
        assert_eq!(Vector::from_unit(vec![]), None);
    }

    #[test]
    fn halfway_is_as_near_to_either() {
        let [a, b] = [vec![1.0, 0.0], vec![0.0, 1.0]].map(|v| Vector::normalized(v).unwrap());
        let middle = a.halfway(&b).unwrap();
        assert!((middle.cosine(&a) - middle.cosine(&b)).abs() < 1e-6);
        let opposite = Vector::normalized(vec![-1.0, 0.0]).unwrap();
        assert_eq!(a.halfway(&opposite), None);
    }
}
