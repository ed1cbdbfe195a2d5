//! [`Article`]: one help page, read and cleaned, before it is split for search.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Language;

/// What the owner of the help center calls an article: an id from its front matter, or its path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArticleId(String);

impl ArticleId {
    /// Wraps an id; readers have made sure that it is unique within its source.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ArticleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// BLAKE3 of everything about an article that ends up in an answer, as 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// Wraps a digest that was stored.
    #[must_use]
    pub fn from_hex(digits: impl Into<String>) -> Self {
        Self(digits.into())
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One help article.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Article {
    /// Unique within the app.
    pub id: ArticleId,
    pub title: String,
    pub lang: Language,
    /// Where a reader finds the page: absolute (`https` or `http`) or a path from the site's root.
    pub url: Option<String>,
    pub tags: Vec<String>,
    /// The file it came from, for messages; `/`-separated and relative to the source.
    pub path: String,
    /// In reading order. Text before the first heading has an empty heading path.
    pub sections: Vec<Section>,
}

/// The text under one heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Headings from the outermost to this section's own, without the title.
    pub headings: Vec<String>,
    /// The heading's fragment id on the page, unique within it; `None` before the first heading.
    pub anchor: Option<String>,
    /// Cleaned text: paragraphs apart by an empty line, list items and table rows one a line.
    pub text: String,
}

impl Article {
    /// A digest that changes exactly when something that can reach an answer changes.
    #[must_use]
    pub fn content_hash(&self) -> ContentHash {
        let mut hasher = blake3::Hasher::new();
        let mut add = |field: &str| {
            // Lengths keep ("ab", "c") apart from ("a", "bc").
            hasher.update(&u64::try_from(field.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(field.as_bytes());
        };
        add(self.id.as_str());
        add(&self.title);
        add(self.lang.as_str());
        add(self.url.as_deref().unwrap_or_default());
        add(&self.tags.len().to_string());
        self.tags.iter().for_each(|tag| add(tag));
        for section in &self.sections {
            add(&section.headings.len().to_string());
            section.headings.iter().for_each(|heading| add(heading));
            add(section.anchor.as_deref().unwrap_or_default());
            add(&section.text);
        }
        ContentHash(hasher.finalize().to_hex().to_string())
    }
}
