//! [`Answer`]: what the user gets.

use serde::Serialize;

use crate::{ArticleId, Language};

/// How an answer came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// A model's whole answer.
    Generated,
    /// A model's answer, cut at a sentence.
    Partial,
    /// Sentences of the articles themselves.
    Templated,
    /// Nothing in the articles answers.
    NoMatch,
}

impl AnswerKind {
    /// The stable name in responses, logs and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Generated => "generated",
            Self::Partial => "partial",
            Self::Templated => "templated",
            Self::NoMatch => "no_match",
        }
    }
}

/// Text with citation marks `[n]`, each of which names one of the citations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub kind: AnswerKind,
    pub text: String,
    /// The language of our own words in the text; quoted sentences keep theirs.
    pub lang: Language,
    pub citations: Vec<Citation>,
}

/// A passage that an answer stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// The number in the text's marks, from 1.
    pub n: u32,
    pub article_id: ArticleId,
    pub title: String,
    pub heading: String,
    pub url: Option<String>,
    /// Words that stand in the passage exactly so.
    pub quote: String,
}

/// The model calls behind an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelUse {
    /// The model that was configured for this request.
    pub requested: String,
    /// The model that wrote the text.
    pub served: String,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
}
