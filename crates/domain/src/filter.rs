//! [`Filter`]: which passages may answer.

use serde::{Deserialize, Serialize};

use crate::{Language, Passage};

/// Every condition given must hold. Empty means all passages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Filter {
    /// Only passages in this language.
    pub lang: Option<Language>,
    /// Only passages that carry all of these tags.
    pub tags: Vec<String>,
}

impl Filter {
    /// Whether nothing is filtered out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lang.is_none() && self.tags.is_empty()
    }

    /// Whether `passage` may answer.
    #[must_use]
    pub fn admits(&self, passage: &Passage) -> bool {
        self.admits_parts(passage.lang, &passage.tags)
    }

    /// Whether a passage of this language with these tags may answer.
    #[must_use]
    pub fn admits_parts(&self, lang: Language, tags: &[String]) -> bool {
        self.lang.is_none_or(|wanted| wanted == lang)
            && self.tags.iter().all(|wanted| tags.contains(wanted))
    }
}
