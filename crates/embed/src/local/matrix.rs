//! [`Matrix`]: multiplication of activations by constant weights, the one hot loop of the model.
//!
//! The weights lie in panels of [`PANEL`] columns, the activations in blocks of up to [`BLOCK`] rows, so
//! that the inner loop reads both in order and keeps all its sums in registers. It is written with plain
//! arrays; what makes it fast is that `pulp` compiles it a second time for CPUs with AVX2 and FMA (or
//! NEON) and picks that copy at run time.

use deadline::CancelFlag;
use pulp::Arch;

/// Columns per panel: two registers of eight.
const PANEL: usize = 16;

/// Rows per block. 6 × 2 sums, 2 registers of weights and 1 of activations fill AVX2's sixteen.
const BLOCK: usize = 6;

/// Work was given up because nobody waits for it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cancelled;

/// Constant weights of `inputs` rows and `outputs` columns.
pub(super) struct Matrix {
    inputs: usize,
    /// Panel after panel; each holds its sixteen columns for every input.
    panels: Vec<[f32; PANEL]>,
}

/// Rows of activations, `width` numbers each, that begin `stride` numbers apart. Overlapping rows
/// (`stride` < `width`) are the windows of a convolution.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) values: &'a [f32],
    pub(super) width: usize,
    pub(super) stride: usize,
}

impl<'a> Rows<'a> {
    /// Rows that lie one behind the other.
    pub(super) fn dense(values: &'a [f32], width: usize) -> Self {
        Self { values, width, stride: width }
    }

    fn count(self) -> usize {
        self.values.len().checked_sub(self.width).map_or(0, |rest| rest / self.stride + 1)
    }

    fn row(self, index: usize) -> &'a [f32] {
        &self.values[index * self.stride..][..self.width]
    }
}

/// How a product joins a sum. Fused needs hardware for it: without, it is a slow library call.
trait Accumulate {
    fn add_product(sum: f32, a: f32, b: f32) -> f32;
}

struct Fused;
struct Separate;

impl Accumulate for Fused {
    #[inline(always)]
    fn add_product(sum: f32, a: f32, b: f32) -> f32 {
        a.mul_add(b, sum)
    }
}

impl Accumulate for Separate {
    #[inline(always)]
    fn add_product(sum: f32, a: f32, b: f32) -> f32 {
        sum + a * b
    }
}

impl Matrix {
    /// Packs `weights`, given row by row.
    ///
    /// # Panics
    ///
    /// If `outputs` is no multiple of [`PANEL`]: shapes are constants of the model.
    pub(super) fn pack(weights: &[f32], outputs: usize) -> Self {
        assert_eq!(outputs % PANEL, 0, "every layer's width is a multiple of the panel's");
        let inputs = weights.len() / outputs;
        let mut panels = Vec::with_capacity(inputs * outputs / PANEL);
        for first in (0..outputs).step_by(PANEL) {
            for row in weights.chunks_exact(outputs) {
                let mut lane = [0.0; PANEL];
                lane.copy_from_slice(&row[first..first + PANEL]);
                panels.push(lane);
            }
        }
        Self { inputs, panels }
    }

    /// Puts `other`'s columns behind this matrix's.
    pub(super) fn beside(mut self, other: &Self) -> Self {
        assert_eq!(self.inputs, other.inputs, "matrices side by side take the same inputs");
        self.panels.extend_from_slice(&other.panels);
        self
    }

    /// How many columns there are.
    pub(super) fn outputs(&self) -> usize {
        self.panels.len() / self.inputs * PANEL
    }

    /// `rows` × this matrix, row by row. Looks at `cancel` once per panel, that is every few hundred
    /// microseconds for the longest text.
    pub(super) fn multiply(
        &self,
        rows: Rows<'_>,
        cancel: &CancelFlag,
    ) -> Result<Vec<f32>, Cancelled> {
        let arch = Arch::new();
        if matches!(arch, Arch::Scalar) {
            self.multiply_portably(rows, cancel)
        } else {
            arch.dispatch(
                #[inline(always)]
                || self.multiply_as::<Fused>(rows, cancel),
            )
        }
    }

    /// The same without fused instructions, for CPUs that lack them.
    fn multiply_portably(
        &self,
        rows: Rows<'_>,
        cancel: &CancelFlag,
    ) -> Result<Vec<f32>, Cancelled> {
        self.multiply_as::<Separate>(rows, cancel)
    }

    #[inline(always)]
    fn multiply_as<A: Accumulate>(
        &self,
        rows: Rows<'_>,
        cancel: &CancelFlag,
    ) -> Result<Vec<f32>, Cancelled> {
        if rows.count() == 1 {
            self.multiply_in_blocks::<A, 1>(rows, cancel)
        } else {
            self.multiply_in_blocks::<A, BLOCK>(rows, cancel)
        }
    }

    #[inline(always)]
    fn multiply_in_blocks<A: Accumulate, const R: usize>(
        &self,
        rows: Rows<'_>,
        cancel: &CancelFlag,
    ) -> Result<Vec<f32>, Cancelled> {
        debug_assert_eq!(rows.width, self.inputs, "rows fit the matrix");
        let outputs = self.outputs();
        let blocks = interleaved::<R>(rows);
        let mut product = vec![0.0; rows.count() * outputs];
        // Panel by panel, so that each weight comes from memory once however many rows there are.
        for (panel, first) in self.panels.chunks_exact(self.inputs).zip((0..outputs).step_by(PANEL))
        {
            if cancel.is_raised() {
                return Err(Cancelled);
            }
            let targets = product.chunks_mut(R * outputs);
            for (block, target) in blocks.chunks_exact(self.inputs).zip(targets) {
                let sums = sums::<A, R>(block, panel);
                for (row, sum) in target.chunks_exact_mut(outputs).zip(sums) {
                    row[first..first + PANEL].copy_from_slice(&sum);
                }
            }
        }
        Ok(product)
    }
}

/// Blocks of `R` rows with the rows' numbers side by side; the last block is filled up with zero rows.
fn interleaved<const R: usize>(rows: Rows<'_>) -> Vec<[f32; R]> {
    let mut blocks = vec![[0.0; R]; rows.count().div_ceil(R) * rows.width];
    for (index, block) in blocks.chunks_exact_mut(rows.width).enumerate() {
        for lane in 0..R.min(rows.count() - index * R) {
            for (column, value) in block.iter_mut().zip(rows.row(index * R + lane)) {
                column[lane] = *value;
            }
        }
    }
    blocks
}

/// `R` rows × one panel.
#[inline(always)]
fn sums<A: Accumulate, const R: usize>(
    block: &[[f32; R]],
    panel: &[[f32; PANEL]],
) -> [[f32; PANEL]; R] {
    let mut sums = [[0.0; PANEL]; R];
    for (values, weights) in block.iter().zip(panel) {
        for (row, value) in sums.iter_mut().zip(values) {
            for (sum, weight) in row.iter_mut().zip(weights) {
                *sum = A::add_product(*sum, *value, *weight);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers in −1…1 that differ from each other; `seed` tells sequences apart.
    fn numbers(seed: u32, count: usize) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761) | 1;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from((state >> 16) as u16) / 32_768.0 - 1.0
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    /// The definition, in double precision.
    fn by_definition(rows: Rows<'_>, weights: &[f32], outputs: usize) -> Vec<f64> {
        let mut product = Vec::new();
        for index in 0..rows.count() {
            for output in 0..outputs {
                let terms =
                    rows.row(index).iter().zip(weights.iter().skip(output).step_by(outputs));
                product.push(terms.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum());
            }
        }
        product
    }

    #[track_caller]
    fn check(rows: Rows<'_>, seed: u32, outputs: usize) {
        let weights = numbers(seed, rows.width * outputs);
        let matrix = Matrix::pack(&weights, outputs);
        let expected = by_definition(rows, &weights, outputs);
        let dispatched = matrix.multiply(rows, &CancelFlag::default()).unwrap();
        let portable = matrix.multiply_portably(rows, &CancelFlag::default()).unwrap();
        assert_eq!(dispatched.len(), expected.len());
        assert_eq!(portable.len(), expected.len());
        for ((a, b), c) in dispatched.iter().zip(&portable).zip(&expected) {
            assert!((a - b).abs() <= 1e-5, "dispatched {a}, portable {b}");
            assert!((f64::from(*a) - c).abs() <= 1e-5, "computed {a}, defined {c}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn both_kernels_compute_the_product(
            seed in 1_u32.., count in 0_usize..20, width in 1_usize..40, panels in 1_usize..4,
        ) {
            let values = numbers(seed, count * width);
            check(Rows::dense(&values, width), seed + 1, panels * PANEL);
        }

        #[test]
        fn overlapping_rows_are_windows(seed in 1_u32.., steps in 3_usize..20, stride in 1_usize..20) {
            let values = numbers(seed, steps * stride);
            check(Rows { values: &values, width: 3 * stride, stride }, seed + 1, PANEL);
        }
    }

    #[test]
    fn columns_stand_beside_each_other() {
        let (left, right) = (numbers(1, 3 * PANEL), numbers(2, 3 * PANEL));
        let both = Matrix::pack(&left, PANEL).beside(&Matrix::pack(&right, PANEL));
        let row = [1.0, 0.0, 0.0];
        let product = both.multiply(Rows::dense(&row, 3), &CancelFlag::default()).unwrap();
        assert_eq!(product, [&left[..PANEL], &right[..PANEL]].concat());
    }

    #[test]
    fn a_raised_flag_ends_the_work() {
        let cancel = CancelFlag::default();
        cancel.raise();
        let matrix = Matrix::pack(&numbers(1, PANEL), PANEL);
        assert_eq!(matrix.multiply(Rows::dense(&[1.0], 1), &cancel), Err(Cancelled));
    }
}
