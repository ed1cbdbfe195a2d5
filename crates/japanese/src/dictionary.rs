//! [`Dictionary`]: the words that are known, with their costs and lemmas.

use std::fmt;
use std::io::Read;
use std::sync::LazyLock;

use fst::raw::Fst;
use ruzstd::decoding::StreamingDecoder;

use crate::format::{Connections, DictionaryError, Facts, Lemmas, Sections, i16s, u16s};

const BUNDLED: &[u8] = include_bytes!("../data/ja-unidic-k128.zst");

/// Surfaces with their entries, checked on loading so that look-ups cannot go wrong.
pub struct Dictionary {
    /// Surface to the number of its first entry; entries of one surface lie side by side.
    surfaces: Fst<Vec<u8>>,
    /// Entry to index into `class_pairs`.
    classes: Vec<u16>,
    costs: Vec<i16>,
    facts: Vec<Facts>,
    lemmas: Lemmas,
    /// Left class, right class.
    class_pairs: Vec<(u16, u16)>,
    pub(crate) connections: Connections,
}

/// One reading of a surface.
pub(crate) struct Entry {
    pub(crate) number: u32,
    pub(crate) left: u16,
    pub(crate) right: u16,
    pub(crate) cost: i32,
}

impl Dictionary {
    /// The dictionary that comes with this crate. The first call decodes it (tens of milliseconds, about
    /// 14 MB); later ones are free.
    pub fn bundled() -> &'static Self {
        static LOADED: LazyLock<Dictionary> = LazyLock::new(|| {
            Dictionary::from_zstd(BUNDLED)
                .expect("the bundled dictionary is whole: a test loads it")
        });
        &LOADED
    }

    /// Reads a zstd-compressed dictionary.
    ///
    /// # Errors
    ///
    /// [`DictionaryError`] when it is damaged or of another format.
    pub fn from_zstd(compressed: &[u8]) -> Result<Self, DictionaryError> {
        let unreadable = DictionaryError::Compression;
        let mut decoder = StreamingDecoder::new(compressed)
            .map_err(|error| unreadable(std::io::Error::other(error)))?;
        let mut raw = Vec::new();
        decoder.read_to_end(&mut raw).map_err(unreadable)?;
        Self::from_raw(&raw)
    }

    /// Reads an uncompressed dictionary.
    ///
    /// # Errors
    ///
    /// [`DictionaryError`] when it is damaged or of another format.
    pub fn from_raw(raw: &[u8]) -> Result<Self, DictionaryError> {
        let sections = Sections::split(raw)?;
        let surfaces = Fst::new(sections.surfaces.to_vec())
            .and_then(|surfaces| surfaces.verify().map(|()| surfaces))
            .map_err(|_| DictionaryError::Inconsistent("surfaces"))?;
        let dictionary = Self {
            surfaces,
            classes: u16s(sections.classes),
            costs: i16s(sections.costs),
            facts: Facts::read_all(sections.facts),
            lemmas: Lemmas::decode(sections.lemmas)?,
            class_pairs: u16s(sections.class_pairs)
                .as_chunks()
                .0
                .iter()
                .map(|[left, right]| (*left, *right))
                .collect(),
            connections: Connections::read(sections.matrix)?,
        };
        dictionary.checked()
    }

    fn checked(self) -> Result<Self, DictionaryError> {
        let entries = self.facts.len();
        let inconsistent = |section| Err(DictionaryError::Inconsistent(section));
        if self.classes.len() != entries
            || self.classes.iter().any(|pair| usize::from(*pair) >= self.class_pairs.len())
        {
            return inconsistent("classes");
        }
        if self.costs.len() != entries {
            return inconsistent("costs");
        }
        if self.facts.iter().any(|facts| facts.lemma() >= self.lemmas.len()) {
            return inconsistent("facts");
        }
        if !self.class_pairs.iter().all(|pair| self.connections.holds(*pair)) {
            return inconsistent("class pairs");
        }
        Ok(self)
    }

    /// Calls `found` with the length in bytes and the entries of every surface that `text` starts with.
    pub(crate) fn prefixes(&self, text: &[u8], mut found: impl FnMut(usize, Entry)) {
        let mut node = self.surfaces.root();
        let mut value = 0_u64;
        for (index, byte) in text.iter().enumerate() {
            let Some(transition) = node.find_input(*byte) else { break };
            let transition = node.transition(transition);
            value += transition.out.value();
            node = self.surfaces.node(transition.addr);
            if node.is_final() {
                let first = value + node.final_output().value();
                self.entries_from(first).for_each(|entry| found(index + 1, entry));
            }
        }
    }

    /// The entries of the surface whose first entry is `first`.
    fn entries_from(&self, first: u64) -> impl Iterator<Item = Entry> {
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        let end = (first.saturating_add(1)..self.facts.len())
            .find(|next| self.facts[*next].is_first_of_its_surface())
            .unwrap_or(self.facts.len());
        (first..end).filter_map(|index| {
            let (left, right) = self.class_pairs[usize::from(self.classes[index])];
            let number = u32::try_from(index).ok()?;
            Some(Entry { number, left, right, cost: i32::from(self.costs[index]) })
        })
    }

    pub(crate) fn lemma(&self, entry: u32) -> &str {
        self.lemmas.get(self.facts[entry as usize].lemma())
    }

    pub(crate) fn is_content_word(&self, entry: u32) -> bool {
        self.facts[entry as usize].is_content_word()
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionary")
            .field("entries", &self.facts.len())
            .field("lemmas", &self.lemmas.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::MAGIC;

    #[test]
    fn the_bundled_dictionary_loads() {
        let shown = format!("{:?}", Dictionary::bundled());
        assert_eq!(shown, "Dictionary { entries: 586338, lemmas: 154116, .. }");
    }

    #[test]
    fn damaged_dictionaries_are_errors() {
        assert!(matches!(Dictionary::from_zstd(b""), Err(DictionaryError::Compression(_))));
        assert!(Dictionary::from_zstd(&BUNDLED[..1000]).is_err());
        assert!(matches!(Dictionary::from_raw(b"something"), Err(DictionaryError::Magic)));
        assert!(matches!(Dictionary::from_raw(MAGIC), Err(DictionaryError::CutOff("lengths"))));
        let empty_sections = [MAGIC.as_slice(), &[0; 28]].concat();
        assert!(Dictionary::from_raw(&empty_sections).is_err());
    }
}
