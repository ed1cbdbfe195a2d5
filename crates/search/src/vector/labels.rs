//! [`LabelTable`]: the few distinct combinations of language and tags that passages have.

use std::collections::HashMap;

use domain::{Filter, Language};
use serde::{Deserialize, Serialize};

/// What a filter looks at.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Labels {
    lang: Language,
    tags: Vec<String>,
}

/// Distinct labels; rows hold places in it. A filter is asked once per entry, not once per row.
#[derive(Debug, Default)]
pub(super) struct LabelTable {
    entries: Vec<Labels>,
    places: HashMap<Labels, u32>,
}

/// Which rows a filter admits.
pub(super) enum Admission {
    All,
    /// Per entry of the table.
    Entries(Vec<bool>),
}

impl LabelTable {
    /// The place of these labels, entered if new.
    pub(super) fn place(&mut self, lang: Language, tags: &[String]) -> u32 {
        let labels = Labels { lang, tags: tags.to_vec() };
        if let Some(place) = self.places.get(&labels) {
            return *place;
        }
        let place =
            u32::try_from(self.entries.len()).expect("rows, and so labels, are counted in 32 bits");
        self.entries.push(labels.clone());
        self.places.insert(labels, place);
        place
    }

    pub(super) fn into_entries(self) -> Vec<Labels> {
        self.entries
    }
}

impl Admission {
    pub(super) fn of(filter: &Filter, entries: &[Labels]) -> Self {
        if filter.is_empty() {
            return Self::All;
        }
        Self::Entries(
            entries.iter().map(|labels| filter.admits_parts(labels.lang, &labels.tags)).collect(),
        )
    }

    /// Whether a row with these labels is admitted.
    pub(super) fn admits(&self, place: u32) -> bool {
        match self {
            Self::All => true,
            Self::Entries(admitted) => admitted[place as usize],
        }
    }
}
