//! How much a templated answer may say.

/// How much a templated answer may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateSettings {
    /// Passages quoted, and so citations, at most.
    pub most_passages: usize,
    /// Quoted sentences at most; a list of steps counts as one.
    pub most_sentences: usize,
    /// Characters of quoted text in all, lead-ins and marks apart.
    pub longest: usize,
}

impl TemplateSettings {
    /// What fits a chat bubble on a phone without scrolling far, and still holds a list of ten steps.
    pub const STANDARD: Self = Self { most_passages: 3, most_sentences: 5, longest: 700 };
}
