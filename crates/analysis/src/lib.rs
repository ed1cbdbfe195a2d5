//! Words of a text, the same way for articles and for questions.
//!
//! A text is [folded](fold) first (NFKC, lower case), then cut by script: Latin and other alphabets into
//! stems, Japanese into the lemmas of its content words, Chinese and the languages of South-East Asia into
//! dictionary words, Korean into word beginnings. Every [`Word`] says where it stands in the text as it
//! was given, so that quotes and highlights are exact. Any text is accepted, and nothing here does I/O.

mod alphabetic;
mod analyzer;
mod bigrams;
mod fold;
mod ideographic;
mod korean;
mod profile;
mod runs;
mod stems;
mod stop_words;

pub use analyzer::{Analyzer, Word};
pub use fold::{Folded, fold};
pub use profile::{Han, Profile};

/// Changes when an equal text would be cut into other words: another stemmer, other stop words, another
/// dictionary, other rules. What was indexed under another version does not match today's questions.
pub const VERSION: u32 = 1;
