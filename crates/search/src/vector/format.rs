//! The layout of a vector file: a header of fixed size, then sections.
//!
//! ```text
//! 0    magic, version, dimensions, rows
//! 24   per section: offset, length, BLAKE3 of its bytes
//! 480  BLAKE3 of bytes 0–479
//! 512  the sections, each at a multiple of 64
//! ```
//!
//! Numbers are little-endian. The header is written last, so a file whose writer died has none.

use std::ops::Range;

#[cfg(target_endian = "big")]
compile_error!("vector files are mapped as they are and hold little-endian numbers");

const MAGIC: &[u8; 8] = b"KIWARIVF";
/// The format of a vector file, in its header. Changes with the layout and with what a section holds.
pub const FORMAT: u32 = 1;

/// Where the sections begin.
pub(super) const HEADER_BYTES: usize = 512;
const CHECKSUM_AT: usize = HEADER_BYTES - blake3::OUT_LEN;

/// Sections begin at its multiples: enough for every number type, and whole cache lines.
pub(super) const ALIGNMENT: usize = 64;

/// More than any embedder has; keeps sums of eight-bit products within 32 bits.
pub(super) const MOST_DIMENSIONS: u32 = 1 << 16;

/// What a file holds, in the order in which it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// Vectors, f32.
    Floats,
    /// Vectors, i8; see `quantize`.
    Codes,
    /// Per row: what a code is worth, f32.
    Scales,
    /// Per row: the passage's id, 16 bytes.
    Ids,
    /// Rows in ascending order of their ids, u32.
    Order,
    /// Per row: its entry in the label table, u32.
    Labels,
    /// The embedder and the label table, JSON.
    Description,
}

impl Section {
    pub(super) const ALL: [Self; 7] = [
        Self::Floats,
        Self::Codes,
        Self::Scales,
        Self::Ids,
        Self::Order,
        Self::Labels,
        Self::Description,
    ];

    /// How many bytes it has per row; the description has any number.
    fn bytes_per_row(self, dimensions: u32) -> Option<u64> {
        match self {
            Self::Floats => Some(4 * u64::from(dimensions)),
            Self::Codes => Some(u64::from(dimensions)),
            Self::Scales | Self::Order | Self::Labels => Some(4),
            Self::Ids => Some(16),
            Self::Description => None,
        }
    }
}

/// Where a section lies, and its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) checksum: blake3::Hash,
}

/// The decoded header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) dimensions: u32,
    pub(super) rows: u64,
    /// In the order of [`Section::ALL`].
    pub(super) extents: [Extent; Section::ALL.len()],
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut fields = Vec::with_capacity(HEADER_BYTES);
        fields.extend_from_slice(MAGIC);
        fields.extend_from_slice(&FORMAT.to_le_bytes());
        fields.extend_from_slice(&self.dimensions.to_le_bytes());
        fields.extend_from_slice(&self.rows.to_le_bytes());
        for extent in &self.extents {
            fields.extend_from_slice(&extent.offset.to_le_bytes());
            fields.extend_from_slice(&extent.length.to_le_bytes());
            fields.extend_from_slice(extent.checksum.as_bytes());
        }
        let mut header = [0; HEADER_BYTES];
        header[..fields.len()].copy_from_slice(&fields);
        let checksum = blake3::hash(&header[..CHECKSUM_AT]);
        header[CHECKSUM_AT..].copy_from_slice(checksum.as_bytes());
        header
    }

    /// Reads the header of a whole file and checks it against the file's length.
    ///
    /// # Errors
    ///
    /// What is wrong, in words.
    pub(super) fn decode(file: &[u8]) -> Result<Self, String> {
        let header = file.first_chunk::<HEADER_BYTES>().ok_or("it is shorter than a header")?;
        let mut fields = Fields(header);
        if fields.take::<8>() != *MAGIC {
            return Err("it does not begin like one".to_owned());
        }
        let version = u32::from_le_bytes(fields.take());
        if version != FORMAT {
            return Err(format!("it has version {version}, this program reads version {FORMAT}"));
        }
        if blake3::hash(&header[..CHECKSUM_AT]).as_bytes() != &header[CHECKSUM_AT..] {
            return Err("its header was changed".to_owned());
        }
        let dimensions = u32::from_le_bytes(fields.take());
        if !(1..=MOST_DIMENSIONS).contains(&dimensions) {
            return Err(format!("it claims {dimensions} dimensions"));
        }
        let rows = u64::from_le_bytes(fields.take());
        let extents = Section::ALL.map(|_| Extent {
            offset: u64::from_le_bytes(fields.take()),
            length: u64::from_le_bytes(fields.take()),
            checksum: blake3::Hash::from_bytes(fields.take()),
        });
        Ok(Self { dimensions, rows, extents })
    }

    /// Where `section` lies in a file of `file_length` bytes.
    ///
    /// # Errors
    ///
    /// What is wrong, in words: the file was cut short, or the header contradicts itself.
    pub(super) fn range(
        &self,
        section: Section,
        file_length: usize,
    ) -> Result<Range<usize>, String> {
        let extent = self.extent(section);
        let expected = match section.bytes_per_row(self.dimensions) {
            Some(bytes) => self.rows.checked_mul(bytes),
            None => Some(extent.length),
        };
        if expected != Some(extent.length) {
            return Err(format!(
                "section {section:?} has {} bytes for {} rows",
                extent.length, self.rows
            ));
        }
        let start =
            usize::try_from(extent.offset).ok().filter(|start| start.is_multiple_of(ALIGNMENT));
        let range = start.zip(usize::try_from(extent.length).ok()).and_then(|(start, length)| {
            start.checked_add(length).filter(|end| *end <= file_length).map(|end| start..end)
        });
        range.ok_or_else(|| format!("section {section:?} lies beyond its {file_length} bytes"))
    }

    pub(super) fn extent(&self, section: Section) -> Extent {
        self.extents[section as usize]
    }
}

/// The header's fields, taken from the front.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk::<N>().expect("the fields fit the header");
        self.0 = rest;
        *field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let extent = |offset| Extent { offset, length: 0, checksum: blake3::hash(b"") };
        Header { dimensions: 3, rows: 0, extents: [64, 128, 192, 256, 320, 384, 448].map(extent) }
    }

    #[test]
    fn a_header_survives_its_encoding() {
        assert_eq!(Header::decode(&header().encode()), Ok(header()));
    }

    #[test]
    fn every_changed_byte_of_a_header_is_noticed() {
        let encoded = header().encode();
        for at in 0..HEADER_BYTES {
            let mut changed = encoded;
            changed[at] ^= 1;
            assert!(Header::decode(&changed).is_err(), "byte {at}");
        }
        assert!(Header::decode(&encoded[1..]).is_err());
    }

    #[test]
    fn sections_outside_the_file_are_refused() {
        assert_eq!(header().range(Section::Floats, 64), Ok(64..64));
        assert!(header().range(Section::Floats, 63).is_err());
        let mut odd = header();
        odd.extents[0].offset = 65;
        assert!(odd.range(Section::Floats, 1000).is_err());
        odd.extents[0] = Extent { offset: u64::MAX - 63, length: 0, ..odd.extents[0] };
        assert!(odd.range(Section::Floats, 1000).is_err());
        odd.rows = u64::MAX;
        assert!(odd.range(Section::Floats, 1000).is_err());
    }
}
