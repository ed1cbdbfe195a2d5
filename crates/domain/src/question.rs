//! [`Question`]: what the user asked, after normalisation.

use crate::{Language, Script};

/// A question that is known to be clean: NFKC, no control or zero-width characters, folded white space,
/// at least one letter or digit, within the length limit. `normalize::question` makes these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    text: String,
    lang: Language,
    script: Script,
}

impl Question {
    /// Wraps text that has been normalised.
    #[must_use]
    pub fn from_normalized(text: String, lang: Language, script: Script) -> Self {
        Self { text, lang, script }
    }

    /// The normalised text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The language it is answered in: the caller's word, or what was detected.
    #[must_use]
    pub fn lang(&self) -> Language {
        self.lang
    }

    /// The script of most of its letters.
    #[must_use]
    pub fn script(&self) -> Script {
        self.script
    }
}
