//! Languages and scripts, as far as the pipeline decides on them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

/// A language: the primary subtag of a BCP 47 tag, in lower case (`en`, `ja`, `fil`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Language {
    letters: [u8; 3],
    length: u8,
}

/// Text that names no language.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0:?} is not a language; write a tag such as en, ja or pt-BR")]
pub struct InvalidLanguage(pub String);

impl Language {
    pub const ENGLISH: Self = Self { letters: *b"en\0", length: 2 };
    pub const JAPANESE: Self = Self { letters: *b"ja\0", length: 2 };
    pub const CHINESE: Self = Self { letters: *b"zh\0", length: 2 };
    pub const KOREAN: Self = Self { letters: *b"ko\0", length: 2 };

    /// The subtag, in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let letters = self.letters.get(..usize::from(self.length)).unwrap_or_default();
        std::str::from_utf8(letters).unwrap_or_default()
    }
}

impl FromStr for Language {
    type Err = InvalidLanguage;

    /// Takes the primary subtag of a tag and drops the rest: `pt-BR` and `pt_BR` are `pt`.
    fn from_str(tag: &str) -> Result<Self, Self::Err> {
        let primary = tag.trim().split(['-', '_']).next().unwrap_or_default();
        let bytes = primary.as_bytes();
        let well_formed = matches!(bytes.len(), 2 | 3) && bytes.iter().all(u8::is_ascii_alphabetic);
        if !well_formed {
            return Err(InvalidLanguage(tag.to_owned()));
        }
        let mut language = Self { letters: [0; 3], length: 0 };
        for (slot, byte) in language.letters.iter_mut().zip(bytes) {
            *slot = byte.to_ascii_lowercase();
            language.length += 1;
        }
        Ok(language)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Language {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Language {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tag = String::deserialize(deserializer)?;
        tag.parse().map_err(de::Error::custom)
    }
}

/// The writing system that most of a text is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Script {
    Latin,
    /// Hiragana or katakana, with or without Han characters.
    Japanese,
    /// Han characters only: Chinese, or a Japanese question without kana.
    Han,
    Hangul,
    /// Anything else, a text without letters included.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tag: &str, expected: Option<&str>) {
        let language = tag.parse::<Language>().ok();
        assert_eq!(language.as_ref().map(Language::as_str), expected, "{tag:?}");
    }

    #[test]
    fn tags_are_cut_to_their_primary_subtag() {
        check("en", Some("en"));
        check("EN-us", Some("en"));
        check("pt_BR", Some("pt"));
        check("fil", Some("fil"));
        check(" ja ", Some("ja"));
    }

    #[test]
    fn what_names_no_language_is_refused() {
        for tag in ["", "e", "engl", "日本", "e1", "-en", "null!"] {
            check(tag, None);
        }
    }

    #[test]
    fn constants_equal_what_is_parsed() {
        assert_eq!("ja".parse(), Ok(Language::JAPANESE));
        assert_eq!(serde_json::to_string(&Language::ENGLISH).unwrap(), "\"en\"");
    }
}
