//! Eight-bit codes of vectors, and the products that a search is made of.

use pulp::Arch;

/// The largest code; −128 is not used, so that codes are symmetric.
const LARGEST: f32 = 127.0;

/// A vector as whole numbers −127…127 and what one of them is worth.
pub(super) struct Codes {
    pub(super) codes: Vec<i8>,
    pub(super) scale: f32,
}

impl Codes {
    /// Rounds `values`, the largest of which becomes ±127.
    pub(super) fn of(values: &[f32]) -> Self {
        let scale = values.iter().fold(0.0_f32, |largest, x| largest.max(x.abs())) / LARGEST;
        #[expect(clippy::cast_possible_truncation, reason = "no value exceeds the largest")]
        let code = |x: &f32| (x / scale).round() as i8;
        Self { codes: values.iter().map(code).collect(), scale }
    }
}

/// The products of `query` with the given rows of `codes`, in the rows' order.
pub(super) fn code_products(query: &[i8], codes: &[i8], rows: &[u32]) -> Vec<i32> {
    let mut products = vec![0; rows.len()];
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (product, row) in products.iter_mut().zip(rows) {
                *product = code_product(query, row_of(codes, *row, query.len()));
            }
        },
    );
    products
}

/// The products of `query` with the given rows of `floats`, in the rows' order.
pub(super) fn float_products(query: &[f32], floats: &[f32], rows: &[u32]) -> Vec<f32> {
    let mut products = vec![0.0; rows.len()];
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (product, row) in products.iter_mut().zip(rows) {
                *product = float_product(query, row_of(floats, *row, query.len()));
            }
        },
    );
    products
}

#[inline(always)]
fn row_of<T>(values: &[T], row: u32, width: usize) -> &[T] {
    &values[row as usize * width..][..width]
}

/// Cannot overflow: 2^16 dimensions of 127² stay below 2^31.
///
/// A plain loop, as everything under `dispatch`: only what is inlined is compiled for the wider registers,
/// and an iterator's `sum` is not reliably so.
#[inline(always)]
fn code_product(a: &[i8], b: &[i8]) -> i32 {
    let mut sum = 0;
    for (a, b) in a.iter().zip(b) {
        sum += i32::from(*a) * i32::from(*b);
    }
    sum
}

/// In as many running sums, because one would wait for itself at every step: an addition takes four times as long
/// as a processor needs to begin the next one, on eight numbers at once.
const LANES: usize = 32;

#[inline(always)]
fn float_product(a: &[f32], b: &[f32]) -> f32 {
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let mut sum = 0.0;
    for lane in sums {
        sum += lane;
    }
    for (a, b) in a_rest.iter().zip(b_rest) {
        sum += a * b;
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_largest_value_has_the_largest_code() {
        let Codes { codes, scale } = Codes::of(&[0.5, -1.0, 0.0, 0.25]);
        assert_eq!(codes, [64, -127, 0, 32]);
        assert!((scale * 127.0 - 1.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn codes_are_within_half_a_step(values in prop::collection::vec(-1.0_f32..1.0, 1..80)) {
            prop_assume!(values.iter().any(|x| x.abs() > 1e-3));
            let Codes { codes, scale } = Codes::of(&values);
            for (code, value) in codes.iter().zip(&values) {
                prop_assert!((f32::from(*code) * scale - value).abs() <= scale * 0.5001);
            }
        }

        #[test]
        fn dispatched_products_equal_plain_ones(
            (query, rows) in (1_usize..70).prop_flat_map(|width| {
                let row = || prop::collection::vec(-127_i8..=127, width);
                (row(), prop::collection::vec(row(), 0..9))
            }),
        ) {
            let all: Vec<u32> = (0..).take(rows.len()).collect();
            let plain: Vec<i32> = rows.iter().map(|row| code_product(&query, row)).collect();
            prop_assert_eq!(&code_products(&query, &rows.concat(), &all), &plain);

            let floats = |codes: &[i8]| codes.iter().map(|code| f32::from(*code)).collect::<Vec<_>>();
            let products = float_products(&floats(&query), &floats(&rows.concat()), &all);
            // Whole numbers below 2^24 are exact in f32, in every order of summing.
            prop_assert_eq!(products, plain.iter().map(|product| *product as f32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_longest_products_do_not_overflow() {
        let width = super::super::format::MOST_DIMENSIONS as usize;
        let (most, least) = (vec![127; width], vec![-127; width]);
        assert_eq!(code_products(&most, &least, &[0]), [-127 * 127 * (1 << 16)]);
    }
}
