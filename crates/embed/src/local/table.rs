//! [`PieceTable`]: a vector for every piece, six bits a number.

use std::borrow::Cow;

/// Numbers per row, and of every text's vector.
pub(super) const DIMENSIONS: usize = 512;

/// Bytes per row: four numbers in three bytes.
pub(super) const ROW_BYTES: usize = DIMENSIONS / 4 * 3;

/// The vectors of all pieces. Packed they are 23 MB, unpacked 124; a text needs a few dozen of its 60,000
/// rows, so rows are unpacked on use and untouched pages of an embedded table are never read.
pub(super) struct PieceTable {
    packed: Cow<'static, [u8]>,
    /// A row's number is `lowest + step × code`.
    lines: Vec<Line>,
}

/// How a row's codes become numbers.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) lowest: f32,
    pub(super) step: f32,
}

impl PieceTable {
    /// Wraps packed rows, one per line.
    ///
    /// # Panics
    ///
    /// If there is not exactly one row per line.
    pub(super) fn new(packed: Cow<'static, [u8]>, lines: Vec<Line>) -> Self {
        assert_eq!(packed.len(), lines.len() * ROW_BYTES, "one packed row per line");
        Self { packed, lines }
    }

    /// Writes the vector of piece `id` to `row`.
    pub(super) fn unpack(&self, id: u32, row: &mut [f32]) {
        let id = id as usize;
        let Line { lowest, step } = self.lines[id];
        let packed = &self.packed[id * ROW_BYTES..][..ROW_BYTES];
        for (four, bytes) in row.chunks_exact_mut(4).zip(packed.chunks_exact(3)) {
            let codes = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
            for (number, shift) in four.iter_mut().zip([0, 6, 12, 18]) {
                // Six bits are exact in f32.
                *number = f32::from((codes >> shift & 0x3f) as u8) * step + lowest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_codes_share_three_bytes() {
        let codes: [u32; 4] = [1, 2, 33, 63];
        let word = codes[0] | codes[1] << 6 | codes[2] << 12 | codes[3] << 18;
        let packed: Vec<u8> = word.to_le_bytes()[..3].repeat(DIMENSIONS / 4);
        let table = PieceTable::new(packed.into(), vec![Line { lowest: -1.0, step: 0.5 }]);
        let mut row = [0.0; DIMENSIONS];
        table.unpack(0, &mut row);
        for four in row.chunks(4) {
            assert_eq!(four, [-0.5, 0.0, 15.5, 30.5]);
        }
    }
}
