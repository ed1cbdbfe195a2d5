//! The last rung of the ladder: an answer made of the articles' own sentences, without a model and
//! without a way to fail.
//!
//! Also what every answer with citations needs, whoever wrote it: where sentences end
//! ([`sentence`]) and whether `[n]` marks hold ([`citations`]). Pure, synchronous, total: any question
//! and any hits give an answer, and one with citations wherever there is a hit.

mod block;
mod boundary;
mod choose;
pub mod citations;
mod compose;
mod fit;
mod marks;
mod phrases;
mod piece;
mod plain;
mod score;
pub mod sentence;
mod settings;
mod source;

pub use compose::templated;
pub use plain::{no_match, out_of_time};
pub use settings::TemplateSettings;

/// The part of `text` in `range`, which lies within it and on character boundaries: all ranges here come
/// from reading that same text.
fn part(text: &str, range: std::ops::Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}
