//! HTTP/1.1 and HTTP/2 without encryption, and how to misuse them.

mod admin;
mod body;
mod credentials;
mod handle;
mod reply;
mod route;
mod serve;
mod socket;

pub(crate) use credentials::Credentials;
pub(crate) use reply::{Act, EVENTS, HTML, JSON, Outline, Reply, Step};
pub(crate) use route::{Form, GeminiCall, OpenAiCall, OpenAiFlavour};
pub use serve::Simulator;

use bytes::Bytes;
use hyper::HeaderMap;

/// A request that has arrived whole.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) headers: HeaderMap,
    pub(crate) query: String,
    pub(crate) body: Bytes,
}

impl Received {
    /// A header that is plain text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// A parameter of the query, as it is written.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next()
    }
}
