//! [`Passage`]: the piece of an article that is found, shown and cited.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

use crate::{ArticleId, Language};

/// 128 bits of BLAKE3 over a passage's content and place; written as 32 hexadecimal digits.
///
/// Equal content at an equal place has an equal id in every generation, so vectors can be carried over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PassageId([u8; 16]);

/// Text that is no passage id.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0:?} is not a passage id of 32 hexadecimal digits")]
pub struct InvalidPassageId(pub String);

impl PassageId {
    /// Wraps stored bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes to store.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for PassageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PassageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PassageId {
    type Err = InvalidPassageId;

    fn from_str(digits: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidPassageId(digits.to_owned());
        let number = u128::from_str_radix(digits, 16).map_err(|_| invalid())?;
        let id = Self(number.to_be_bytes());
        // Refuses signs, short forms and upper case: an id has one spelling.
        if id.to_string() == digits { Ok(id) } else { Err(invalid()) }
    }
}

impl Serialize for PassageId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PassageId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// A piece of an article, small enough to be read at a glance and to fit a prompt several times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    pub id: PassageId,
    pub article_id: ArticleId,
    pub title: String,
    /// Headings above the text, outermost first, without the title.
    pub headings: Vec<String>,
    /// Where the passage stands: the article's URL with the section's fragment.
    pub url: Option<String>,
    pub lang: Language,
    pub tags: Vec<String>,
    /// Position within the article, from 0.
    pub ordinal: u32,
    pub text: String,
}

impl Passage {
    /// The id that belongs to the other fields. `ordinal` is not one of them: text that merely moved
    /// down keeps its id; `twin` tells apart equal texts under equal headings of one article.
    #[must_use]
    pub fn derive_id(&self, twin: u32) -> PassageId {
        let mut hasher = blake3::Hasher::new();
        let mut add = |field: &str| {
            hasher.update(&u64::try_from(field.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(field.as_bytes());
        };
        add(self.article_id.as_str());
        add(&self.title);
        add(self.lang.as_str());
        add(&self.headings.len().to_string());
        self.headings.iter().for_each(|heading| add(heading));
        add(&self.text);
        add(&twin.to_string());
        let mut id = [0; 16];
        id.copy_from_slice(hasher.finalize().as_bytes().first_chunk::<16>().unwrap_or(&[0; 16]));
        PassageId(id)
    }

    /// The innermost heading, or the title where there is none.
    #[must_use]
    pub fn heading(&self) -> &str {
        self.headings.last().unwrap_or(&self.title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_its_text_form_and_has_one_spelling() {
        let id = PassageId::from_bytes([0xab; 16]);
        assert_eq!(id.to_string().parse(), Ok(id));
        for wrong in ["", "ab", "+1", &"AB".repeat(16), &"zz".repeat(16), &"ab".repeat(17)] {
            assert!(wrong.parse::<PassageId>().is_err(), "{wrong:?}");
        }
    }
}
