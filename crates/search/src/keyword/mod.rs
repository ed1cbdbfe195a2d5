//! Keyword search over passages, and the store of the passages themselves.
//!
//! tantivy keeps the postings, the field lengths and the passages on disk; which passage answers a
//! question best is [computed here](ranking), so that scores do not depend on how an index happens to be
//! cut into segments, and so that the share of a question that a passage covers comes with them. An index
//! is immutable once committed; the next generation [derives](KeywordWriter::derive) from it.

mod collection;
mod error;
mod highlight;
mod index;
mod link;
mod question;
mod ranking;
mod recent;
mod schema;
mod scoring;
mod tokens;
mod top;
mod watch;
mod writer;

pub use error::KeywordError;
pub use highlight::Highlighter;
pub use index::{KeywordHit, KeywordHits, KeywordIndex, KeywordRequest};
pub use schema::FORMAT;
pub use writer::{KeywordStats, KeywordWriter};
