//! Embedders that ask a remote model.
//!
//! They differ in how a request is worded; what a reply must hold is the same and checked in one place. A
//! vector that came back is scaled to unit length here, whatever the model says of its own.

mod gemini;
mod openai;
mod reply;

use domain::{Fault, FaultKind};
use thiserror::Error;

pub use gemini::{GeminiEmbedder, GeminiSettings};
pub use openai::{OpenAiEmbedder, OpenAiSettings};
pub use reply::ReplyError;

/// Settings that no model could meet.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidEmbedder {
    #[error("{0:?} is no name of an embedding model")]
    Model(String),
    #[error("vectors need at least one dimension")]
    Dimensions,
}

/// A text without words, which models refuse or give a meaningless vector.
#[derive(Debug, Error)]
#[error("a text to embed is blank")]
struct BlankText;

/// Checked here, so that no call is spent on it.
fn refuse_blank(texts: &[String]) -> Result<(), Fault> {
    if texts.iter().any(|text| text.trim().is_empty()) {
        return Err(Fault::new(FaultKind::Error, BlankText));
    }
    Ok(())
}

fn check_settings(model: &str, dimensions: u32) -> Result<(), InvalidEmbedder> {
    // A name may be part of a path, so it cannot hold what ends one.
    let is_plain = |c: char| c.is_ascii_graphic() && !"?#%".contains(c);
    if model.is_empty() || !model.chars().all(is_plain) {
        return Err(InvalidEmbedder::Model(model.to_owned()));
    }
    if dimensions == 0 {
        return Err(InvalidEmbedder::Dimensions);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use upstream::{Auth, BreakerSettings, Http, HttpSettings, Upstream};

    /// An upstream that is never called.
    pub(super) fn nowhere() -> Arc<Upstream> {
        let http = Http::new(&HttpSettings::default()).unwrap();
        let base = "http://127.0.0.1:9".parse().unwrap();
        Arc::new(Upstream::new(http, "nowhere", base, Auth::None, BreakerSettings::default()))
    }
}
