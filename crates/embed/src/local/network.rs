//! [`Network`]: piece ids → a text's vector.
//!
//! The architecture is Google's Universal Sentence Encoder, multilingual, third version, CNN form. Each
//! piece's vector is projected and seen through windows of 2, 3 and 5 pieces; what all windows see is
//! summed over the text and passed through a small feed-forward head.

use deadline::CancelFlag;

use super::error::ModelError;
use super::matrix::{Cancelled, Matrix, Rows};
use super::table::{DIMENSIONS, PieceTable};
use super::weights::WeightFile;

/// Numbers per piece inside one branch.
const CHANNELS: usize = 256;
/// Numbers per piece in front of the sum: its own vector and what each branch makes of it.
const FEATURES: usize = DIMENSIONS + BRANCHES.len() * CHANNELS;
/// Width of the head's narrow layers.
const HEAD: usize = 320;

/// The windows: how many pieces each sees, and how many of those stand before its own.
const BRANCHES: [Window; 3] =
    [Window { size: 2, before: 0 }, Window { size: 3, before: 1 }, Window { size: 5, before: 2 }];

#[derive(Clone, Copy)]
struct Window {
    size: usize,
    before: usize,
}

/// All layers, with their weights.
pub(super) struct Network {
    table: PieceTable,
    projection: Layer,
    projection_norm: Norm,
    branches: Vec<Branch>,
    feature_norm: Norm,
    summary: Layer,
    head: Head,
}

/// A matrix and what is added to each of its rows.
struct Layer {
    weights: Matrix,
    bias: Vec<f32>,
}

/// Shifts and scales a row to mean 0 and variance 1, then per column.
struct Norm {
    gain: Vec<f32>,
    bias: Vec<f32>,
    /// Keeps the division finite.
    epsilon: f32,
}

/// Two convolutions over the same windows, each added to its input.
struct Branch {
    window: Window,
    first: Layer,
    second: Layer,
}

/// The feed-forward end: two blocks of two layers, each block beside a shortcut.
struct Head {
    narrow: Matrix,
    narrow_inner: Matrix,
    narrow_shortcut: Matrix,
    wide: Matrix,
    wide_inner: Matrix,
    wide_shortcut: Matrix,
}

impl Network {
    /// Takes the layers from `file` and the pieces from `table`.
    pub(super) fn load(file: &WeightFile<'_>, table: PieceTable) -> Result<Self, ModelError> {
        let epsilon = file.number("eps")?;
        Ok(Self {
            table,
            projection: projection(file)?,
            projection_norm: Norm {
                gain: per_branch(file, "ln_g")?,
                bias: per_branch(file, "ln_b")?,
                epsilon,
            },
            branches: BRANCHES
                .iter()
                .map(|window| Branch::load(file, *window))
                .collect::<Result<_, _>>()?,
            feature_norm: Norm {
                gain: file.numbers("ln_g", FEATURES)?,
                bias: file.numbers("ln_b", FEATURES)?,
                epsilon,
            },
            summary: Layer {
                weights: file.matrix("cnn_W", FEATURES, DIMENSIONS)?,
                bias: file.numbers("cnn_b", DIMENSIONS)?,
            },
            head: Head::load(file)?,
        })
    }

    /// The vector of the text cut into `ids`; not yet of unit length.
    pub(super) fn forward(&self, ids: &[u32], cancel: &CancelFlag) -> Result<Vec<f32>, Cancelled> {
        let features = self.features(ids, cancel)?;
        let mut sum = vec![0.0; FEATURES];
        features.chunks_exact(FEATURES).for_each(|row| add(&mut sum, row));
        // The layer is linear: applied to the sum it is the sum of the layer over all pieces, whose bias
        // then counts once per piece.
        let count = ids.len() as f32;
        let mut summary = self.summary.weights.multiply(Rows::dense(&sum, FEATURES), cancel)?;
        for (number, bias) in summary.iter_mut().zip(&self.summary.bias) {
            *number = (*number + count * bias) / count.sqrt();
        }
        self.head.apply(&summary, cancel)
    }

    /// Per piece its own vector and the branches' outputs, normalised together.
    fn features(&self, ids: &[u32], cancel: &CancelFlag) -> Result<Vec<f32>, Cancelled> {
        let mut own = vec![0.0; ids.len() * DIMENSIONS];
        for (row, id) in own.chunks_exact_mut(DIMENSIONS).zip(ids) {
            self.table.unpack(*id, row);
        }
        let mut projected = self.projection.apply(Rows::dense(&own, DIMENSIONS), cancel)?;
        self.projection_norm.apply(&mut projected);

        let mut features = vec![0.0; ids.len() * FEATURES];
        place(&own, DIMENSIONS, &mut features, 0);
        for (index, branch) in self.branches.iter().enumerate() {
            let input = columns(&projected, BRANCHES.len() * CHANNELS, index * CHANNELS);
            place(
                &branch.apply(&input, cancel)?,
                CHANNELS,
                &mut features,
                DIMENSIONS + index * CHANNELS,
            );
        }
        self.feature_norm.apply(&mut features);
        Ok(features)
    }
}

/// The branches' projections as one layer: they read the same input.
fn projection(file: &WeightFile<'_>) -> Result<Layer, ModelError> {
    let matrix =
        |window: &Window| file.matrix(&format!("proj{}", window.size), DIMENSIONS, CHANNELS);
    let [first, others @ ..] = &BRANCHES;
    let mut weights = matrix(first)?;
    for window in others {
        weights = weights.beside(&matrix(window)?);
    }
    Ok(Layer { weights, bias: per_branch(file, "proj_b")? })
}

/// The numbers called `name` and a window's size, of all branches, one behind the other.
fn per_branch(file: &WeightFile<'_>, name: &str) -> Result<Vec<f32>, ModelError> {
    let of_branch = |window: &Window| file.numbers(&format!("{name}{}", window.size), CHANNELS);
    Ok(BRANCHES.iter().map(of_branch).collect::<Result<Vec<_>, _>>()?.concat())
}

impl Layer {
    fn apply(&self, rows: Rows<'_>, cancel: &CancelFlag) -> Result<Vec<f32>, Cancelled> {
        let mut product = self.weights.multiply(rows, cancel)?;
        product.chunks_exact_mut(self.bias.len()).for_each(|row| add(row, &self.bias));
        Ok(product)
    }
}

impl Norm {
    fn apply(&self, rows: &mut [f32]) {
        let width = self.gain.len() as f32;
        for row in rows.chunks_exact_mut(self.gain.len()) {
            let mean = sum(row, |x| x) / width;
            let variance = sum(row, |x| (x - mean) * (x - mean)) / width;
            let scale = (variance + self.epsilon).sqrt().recip();
            for ((x, gain), bias) in row.iter_mut().zip(&self.gain).zip(&self.bias) {
                *x = (*x - mean) * scale * gain + bias;
            }
        }
    }
}

impl Branch {
    fn load(file: &WeightFile<'_>, window: Window) -> Result<Self, ModelError> {
        let layer = |number: u8| {
            let name = |letter: char| format!("{letter}{number}_{}", window.size);
            let weights = file.matrix(&name('w'), window.size * CHANNELS, CHANNELS)?;
            Ok(Layer { weights, bias: file.numbers(&name('b'), CHANNELS)? })
        };
        Ok(Self { window, first: layer(1)?, second: layer(2)? })
    }

    fn apply(&self, input: &[f32], cancel: &CancelFlag) -> Result<Vec<f32>, Cancelled> {
        let between = self.convolve(&self.first, input, cancel)?;
        self.convolve(&self.second, &between, cancel)
    }

    /// `input` plus what `layer` sees in each window of it, if positive. Beyond the text's ends there are
    /// zeros.
    fn convolve(
        &self,
        layer: &Layer,
        input: &[f32],
        cancel: &CancelFlag,
    ) -> Result<Vec<f32>, Cancelled> {
        let Window { size, before } = self.window;
        let mut padded = vec![0.0; input.len() + (size - 1) * CHANNELS];
        padded[before * CHANNELS..][..input.len()].copy_from_slice(input);
        let windows = Rows { values: &padded, width: size * CHANNELS, stride: CHANNELS };
        let mut output = layer.apply(windows, cancel)?;
        output.iter_mut().zip(input).for_each(|(seen, own)| *seen = seen.max(0.0) + own);
        Ok(output)
    }
}

impl Head {
    fn load(file: &WeightFile<'_>) -> Result<Self, ModelError> {
        Ok(Self {
            narrow: file.matrix("d0", DIMENSIONS, HEAD)?,
            narrow_inner: file.matrix("d1", HEAD, HEAD)?,
            narrow_shortcut: file.matrix("p1", DIMENSIONS, HEAD)?,
            wide: file.matrix("d2", HEAD, DIMENSIONS)?,
            wide_inner: file.matrix("d3", DIMENSIONS, DIMENSIONS)?,
            wide_shortcut: file.matrix("p3", HEAD, DIMENSIONS)?,
        })
    }

    fn apply(&self, summary: &[f32], cancel: &CancelFlag) -> Result<Vec<f32>, Cancelled> {
        let product =
            |row: &[f32], matrix: &Matrix| matrix.multiply(Rows::dense(row, row.len()), cancel);

        let inner = rectified(product(summary, &self.narrow)?);
        let mut narrow = product(summary, &self.narrow_shortcut)?;
        add(&mut narrow, &product(&inner, &self.narrow_inner)?);
        let narrow = rectified(narrow);

        let inner = rectified(product(&narrow, &self.wide)?);
        let mut wide = product(&narrow, &self.wide_shortcut)?;
        add(&mut wide, &product(&inner, &self.wide_inner)?);
        wide.iter_mut().for_each(|x| *x = x.tanh());
        Ok(wide)
    }
}

fn rectified(mut row: Vec<f32>) -> Vec<f32> {
    row.iter_mut().for_each(|x| *x = x.max(0.0));
    row
}

fn add(row: &mut [f32], other: &[f32]) {
    row.iter_mut().zip(other).for_each(|(x, y)| *x += y);
}

/// Sums in eight lanes: one running sum would wait for itself at every step.
fn sum(row: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let (eights, rest) = row.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for eight in eights {
        lanes.iter_mut().zip(eight).for_each(|(lane, x)| *lane += term(*x));
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|x| term(*x)).sum::<f32>()
}

/// The `CHANNELS` columns from `first` of rows that are `width` wide.
fn columns(rows: &[f32], width: usize, first: usize) -> Vec<f32> {
    rows.chunks_exact(width).flat_map(|row| &row[first..first + CHANNELS]).copied().collect()
}

/// Writes rows of `width` into the columns from `first` of the feature rows.
fn place(rows: &[f32], width: usize, features: &mut [f32], first: usize) {
    for (row, target) in rows.chunks_exact(width).zip(features.chunks_exact_mut(FEATURES)) {
        target[first..first + width].copy_from_slice(row);
    }
}
