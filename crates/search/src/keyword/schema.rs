//! What is kept of a passage, and under which name.

use std::path::Path;

use analysis::{Analyzer, Profile};
use domain::{Language, Passage, PassageId};
use serde::{Deserialize, Serialize};
use tantivy::schema::{
    BytesOptions, FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing,
    TextOptions,
};
use tantivy::tokenizer::{TextAnalyzer, TokenizerManager};
use tantivy::{TantivyDocument, Term};

use super::error::KeywordError;
use super::tokens::{Bigrams, Words};

/// The format of a keyword index. Changes whenever one must be built anew for the sake of its fields or their
/// stored form; how words are cut has a version of its own, [`analysis::VERSION`].
pub const FORMAT: u32 = 1;

const WORDS: &str = "words";
const BIGRAMS: &str = "bigrams";
const RAW: &str = "raw";

/// The name of the field that tells passages apart.
pub(super) const ID: &str = "id";

/// The fields of the index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub(super) id: Field,
    pub(super) title: Field,
    pub(super) headings: Field,
    pub(super) body: Field,
    pub(super) bigrams: Field,
    pub(super) lang: Field,
    pub(super) tags: Field,
    /// The whole passage, as JSON.
    pub(super) passage: Field,
}

/// What is written with each commit besides the passages.
#[derive(Serialize, Deserialize)]
pub(super) struct Payload {
    format: u32,
    profile: Profile,
}

/// The schema, and its fields.
pub(super) fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let fields = Fields {
        id: schema.add_bytes_field(ID, BytesOptions::from(INDEXED) | FAST),
        title: schema.add_text_field("title", counted(WORDS)),
        headings: schema.add_text_field("headings", counted(WORDS)),
        body: schema.add_text_field("body", counted(WORDS)),
        bigrams: schema.add_text_field("bigrams", counted(BIGRAMS)),
        lang: schema.add_text_field("lang", listed()),
        tags: schema.add_text_field("tags", listed()),
        passage: schema.add_bytes_field("passage", STORED),
    };
    (schema.build(), fields)
}

/// Terms with their frequencies and the field's length. No positions: passages are short, and places to
/// highlight come from analysing the one that is shown.
fn counted(tokenizer: &str) -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(tokenizer)
        .set_index_option(IndexRecordOption::WithFreqs);
    TextOptions::default().set_indexing_options(indexing)
}

/// Terms as they are, for filters.
fn listed() -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(RAW)
        .set_index_option(IndexRecordOption::Basic)
        .set_fieldnorms(false);
    TextOptions::default().set_indexing_options(indexing)
}

/// The tokenizers that the schema names.
pub(super) fn tokenizers(profile: Profile) -> TokenizerManager {
    let analyzer = Analyzer::new(profile);
    let manager = TokenizerManager::default();
    manager.register(WORDS, TextAnalyzer::from(Words(analyzer)));
    manager.register(BIGRAMS, TextAnalyzer::from(Bigrams(analyzer)));
    manager
}

impl Fields {
    /// The document to index for `passage`.
    pub(super) fn document(&self, passage: &Passage) -> serde_json::Result<TantivyDocument> {
        let mut document = TantivyDocument::default();
        document.add_bytes(self.id, passage.id.as_bytes());
        document.add_text(self.title, &passage.title);
        document.add_text(self.body, &passage.text);
        document.add_text(self.bigrams, &passage.title);
        document.add_text(self.bigrams, &passage.text);
        for heading in &passage.headings {
            document.add_text(self.headings, heading);
            document.add_text(self.bigrams, heading);
        }
        document.add_text(self.lang, passage.lang.as_str());
        passage.tags.iter().for_each(|tag| document.add_text(self.tags, tag));
        document.add_bytes(self.passage, &serde_json::to_vec(passage)?);
        Ok(document)
    }

    pub(super) fn id_term(&self, id: PassageId) -> Term {
        Term::from_field_bytes(self.id, id.as_bytes())
    }

    pub(super) fn lang_term(&self, lang: Language) -> Term {
        Term::from_field_text(self.lang, lang.as_str())
    }

    pub(super) fn tag_term(&self, tag: &str) -> Term {
        Term::from_field_text(self.tags, tag)
    }
}

impl Payload {
    pub(super) fn write(profile: Profile) -> serde_json::Result<String> {
        serde_json::to_string(&Self { format: FORMAT, profile })
    }

    /// The profile of the index in `dir`, whose last commit carries `payload`.
    pub(super) fn read(payload: Option<&str>, dir: &Path) -> Result<Profile, KeywordError> {
        let Some(payload) = payload else {
            return Err(KeywordError::Missing { dir: dir.to_owned() });
        };
        let damaged = |error: serde_json::Error| KeywordError::Damaged {
            dir: dir.to_owned(),
            detail: format!("its commit carries no profile: {error}"),
        };
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let Head { format } = serde_json::from_str(payload).map_err(damaged)?;
        if format != FORMAT {
            return Err(KeywordError::Format {
                dir: dir.to_owned(),
                found: format,
                expected: FORMAT,
            });
        }
        serde_json::from_str(payload).map(|Self { profile, .. }| profile).map_err(damaged)
    }
}
