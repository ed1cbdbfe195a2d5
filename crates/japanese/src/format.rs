//! The dictionary file: what lies where, and how it is read.
//!
//! Little-endian. [`MAGIC`], the byte lengths of seven sections as `u32`, then the sections:
//!
//! | section | content |
//! |---|---|
//! | surfaces | an `fst` map from surface to the number of its first entry |
//! | classes | per entry, `u16`: index into the class pairs |
//! | costs | per entry, `i16`: the word's cost |
//! | facts | per entry, 24 bits: lemma number, "first of its surface", "content word" |
//! | lemmas | sorted and front-coded: bytes shared with the one before, bytes added, the added bytes |
//! | class pairs | `u16` left class, `u16` right class |
//! | matrix | ten `u16`/`i16` of header (see [`Connections`]), then `i16` costs, row by row |

use std::ops::Range;

use thiserror::Error;

/// The first bytes of an uncompressed dictionary.
pub const MAGIC: &[u8; 8] = b"JALATT01";

const SECTIONS: usize = 7;
const SECTIONS_START: usize = MAGIC.len() + 4 * SECTIONS;
/// Two counts, two boundary classes, two classes and four costs of unknown words.
const MATRIX_HEADER_BYTES: usize = 20;

/// A file that is no usable dictionary.
#[derive(Debug, Error)]
pub enum DictionaryError {
    /// The compressed stream is damaged.
    #[error("the dictionary is not a whole zstd stream")]
    Compression(#[source] std::io::Error),
    /// It is something else, or of another version.
    #[error("the dictionary does not start with the bytes of this format")]
    Magic,
    /// It ends inside the named section.
    #[error("the dictionary is cut off in its {0} section")]
    CutOff(&'static str),
    /// The named section contradicts itself or another one.
    #[error("the dictionary's {0} section is inconsistent")]
    Inconsistent(&'static str),
}

/// The bytes of each section.
pub(crate) struct Sections<'a> {
    pub(crate) surfaces: &'a [u8],
    pub(crate) classes: &'a [u8],
    pub(crate) costs: &'a [u8],
    pub(crate) facts: &'a [u8],
    pub(crate) lemmas: &'a [u8],
    pub(crate) class_pairs: &'a [u8],
    pub(crate) matrix: &'a [u8],
}

impl<'a> Sections<'a> {
    pub(crate) fn split(raw: &'a [u8]) -> Result<Self, DictionaryError> {
        if !raw.starts_with(MAGIC) {
            return Err(DictionaryError::Magic);
        }
        let lengths =
            raw.get(MAGIC.len()..SECTIONS_START).ok_or(DictionaryError::CutOff("lengths"))?;
        let mut lengths = lengths.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let mut rest = raw.get(SECTIONS_START..).unwrap_or_default();
        let mut take = |name| {
            let length = lengths.next().and_then(|length| usize::try_from(length).ok());
            let section;
            (section, rest) = length
                .and_then(|length| rest.split_at_checked(length))
                .ok_or(DictionaryError::CutOff(name))?;
            Ok(section)
        };
        Ok(Self {
            surfaces: take("surfaces")?,
            classes: take("classes")?,
            costs: take("costs")?,
            facts: take("facts")?,
            lemmas: take("lemmas")?,
            class_pairs: take("class pairs")?,
            matrix: take("matrix")?,
        })
    }
}

/// What is known of an entry besides its costs.
#[derive(Clone, Copy)]
pub(crate) struct Facts(u32);

impl Facts {
    pub(crate) fn read_all(bytes: &[u8]) -> Vec<Self> {
        let (triples, _) = bytes.as_chunks();
        triples.iter().map(|[a, b, c]| Self(u32::from_le_bytes([*a, *b, *c, 0]))).collect()
    }

    pub(crate) fn lemma(self) -> usize {
        (self.0 >> 2) as usize
    }

    pub(crate) fn is_first_of_its_surface(self) -> bool {
        self.0 & 2 != 0
    }

    pub(crate) fn is_content_word(self) -> bool {
        self.0 & 1 != 0
    }
}

/// All lemmas in one string.
pub(crate) struct Lemmas {
    text: String,
    ends: Vec<usize>,
}

impl Lemmas {
    pub(crate) fn decode(mut coded: &[u8]) -> Result<Self, DictionaryError> {
        let wrong = || DictionaryError::Inconsistent("lemmas");
        let mut text = Vec::<u8>::new();
        let mut ends = Vec::new();
        let mut last: Range<usize> = 0..0;
        while let [shared, added, rest @ ..] = coded {
            let (shared, added) = (usize::from(*shared), usize::from(*added));
            let (suffix, rest) = rest.split_at_checked(added).ok_or_else(wrong)?;
            if last.len() < shared {
                return Err(wrong());
            }
            let start = text.len();
            text.extend_from_within(last.start..last.start + shared);
            text.extend_from_slice(suffix);
            last = start..text.len();
            ends.push(text.len());
            coded = rest;
        }
        let text = String::from_utf8(text).map_err(|_| wrong())?;
        if ends.iter().all(|end| text.is_char_boundary(*end)) {
            Ok(Self { text, ends })
        } else {
            Err(wrong())
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The lemma of that number; empty where there is none.
    pub(crate) fn get(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.ends.get(number).and_then(|end| self.text.get(start..*end)).unwrap_or_default()
    }
}

/// Costs of putting one word after another, by the classes of the two.
pub(crate) struct Connections {
    columns: usize,
    /// One row per right class of the word before, one column per left class of the word after.
    costs: Vec<i16>,
    /// Right class of the start of a text.
    pub(crate) start: u16,
    /// Left class of the end of a text.
    pub(crate) end: u16,
    /// Left and right class of words that the dictionary lacks.
    pub(crate) unknown: (u16, u16),
    /// Costs of unknown words in katakana, kanji, hiragana and other scripts.
    pub(crate) unknown_costs: [i32; 4],
}

impl Connections {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, DictionaryError> {
        let (header, costs) =
            bytes.split_at_checked(MATRIX_HEADER_BYTES).ok_or(DictionaryError::CutOff("matrix"))?;
        let header = u16s(header);
        let &[rows, columns, start, end, left, right, katakana, kanji, hiragana, other] =
            header.as_slice()
        else {
            return Err(DictionaryError::CutOff("matrix"));
        };
        let signed = |cost: u16| i32::from(cost.cast_signed());
        let read = Self {
            columns: usize::from(columns),
            costs: i16s(costs),
            start,
            end,
            unknown: (left, right),
            unknown_costs: [signed(katakana), signed(kanji), signed(hiragana), signed(other)],
        };
        let full = read.costs.len() == usize::from(rows) * usize::from(columns);
        if full && read.holds((end, start)) && read.holds(read.unknown) {
            Ok(read)
        } else {
            Err(DictionaryError::Inconsistent("matrix"))
        }
    }

    /// Whether there are a column for this left class and a row for this right class.
    pub(crate) fn holds(&self, (left, right): (u16, u16)) -> bool {
        usize::from(left) < self.columns
            && (usize::from(right) + 1) * self.columns <= self.costs.len()
    }

    /// The cost of a word with left class `left` after one with right class `right`.
    pub(crate) fn cost(&self, right: u16, left: u16) -> i32 {
        i32::from(self.costs[usize::from(right) * self.columns + usize::from(left)])
    }
}

pub(crate) fn u16s(bytes: &[u8]) -> Vec<u16> {
    bytes.as_chunks().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect()
}

pub(crate) fn i16s(bytes: &[u8]) -> Vec<i16> {
    bytes.as_chunks().0.iter().map(|pair| i16::from_le_bytes(*pair)).collect()
}
