//! [`WeightFile`]: the model's numbers, read from a safetensors file and checked.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use half::f16;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use super::error::ModelError;
use super::matrix::Matrix;
use super::table::{Line, PieceTable, ROW_BYTES};

/// An opened weight file. Whatever is asked of it has the shape asked for and only finite numbers.
pub(super) struct WeightFile<'a> {
    tensors: SafeTensors<'a>,
    file: PathBuf,
}

impl<'a> WeightFile<'a> {
    /// Reads the table of contents; `file` is the name in errors.
    pub(super) fn parse(bytes: &'a [u8], file: &Path) -> Result<Self, ModelError> {
        let tensors = SafeTensors::deserialize(bytes)
            .map_err(|source| ModelError::NotSafetensors { file: file.to_owned(), source })?;
        Ok(Self { tensors, file: file.to_owned() })
    }

    /// A matrix of half-precision weights, unpacked to single precision once: 14 MB for all of them.
    pub(super) fn matrix(
        &self,
        name: &str,
        inputs: usize,
        outputs: usize,
    ) -> Result<Matrix, ModelError> {
        let tensor = self.tensor(name, Dtype::F16, &[inputs, outputs])?;
        let halves = tensor.data().as_chunks().0.iter();
        let weights = halves.map(|half| f16::from_le_bytes(*half).to_f32()).collect();
        Ok(Matrix::pack(&self.finite(name, weights)?, outputs))
    }

    /// Single-precision numbers: biases, gains, scales.
    pub(super) fn numbers(&self, name: &str, count: usize) -> Result<Vec<f32>, ModelError> {
        let tensor = self.tensor(name, Dtype::F32, &[count])?;
        let numbers = tensor.data().as_chunks().0.iter();
        self.finite(name, numbers.map(|number| f32::from_le_bytes(*number)).collect())
    }

    /// One number.
    pub(super) fn number(&self, name: &str) -> Result<f32, ModelError> {
        Ok(self.numbers(name, 1)?[0])
    }

    /// The table of piece vectors, `rows` of them. `keep` decides whether its bytes are borrowed or copied.
    pub(super) fn table(
        &self,
        rows: usize,
        keep: impl FnOnce(&'a [u8]) -> Cow<'static, [u8]>,
    ) -> Result<PieceTable, ModelError> {
        let packed = self.tensor("table6", Dtype::U8, &[rows, ROW_BYTES])?;
        let lowest = self.numbers("row_lo", rows)?;
        let steps = self.numbers("row_scale", rows)?;
        let lines = lowest.into_iter().zip(steps).map(|(lowest, step)| Line { lowest, step });
        Ok(PieceTable::new(keep(packed.data()), lines.collect()))
    }

    fn tensor(
        &self,
        name: &str,
        dtype: Dtype,
        shape: &[usize],
    ) -> Result<TensorView<'a>, ModelError> {
        let (file, tensor) = (self.file.clone(), name.to_owned());
        let Ok(view) = self.tensors.tensor(name) else {
            return Err(ModelError::MissingTensor { file, tensor });
        };
        if view.dtype() == dtype && view.shape() == shape {
            return Ok(view);
        }
        let found = format!("{:?} {:?}", view.dtype(), view.shape());
        let expected = format!("{dtype:?} {shape:?}");
        Err(ModelError::WrongTensor { file, tensor, found, expected })
    }

    fn finite(&self, name: &str, numbers: Vec<f32>) -> Result<Vec<f32>, ModelError> {
        if numbers.iter().all(|number| number.is_finite()) {
            return Ok(numbers);
        }
        Err(ModelError::NotFinite { file: self.file.clone(), tensor: name.to_owned() })
    }
}
