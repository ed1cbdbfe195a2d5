//! The one way to call a remote model.
//!
//! An [`Upstream`] is one far side: where it is, how we prove who we are, and whether it is worth calling at
//! the moment. Every exchange runs under its call's deadline, body included, and dropping one closes the
//! connection (or resets the stream) at once. What prompts or vectors are is nobody's business here.
//!
//! Nothing is retried: whoever calls knows whether another try still fits its time.

mod auth;
mod body;
mod breaker;
mod classify;
mod counts;
mod exchange;
mod failure;
mod http;
mod redact;
mod transport;
mod upstream;
mod watch;

pub use bytes::Bytes;
pub use reqwest::Url;
pub use reqwest::header::HeaderMap;

pub use auth::{Auth, Secret};
pub use breaker::{BreakerCause, BreakerMode, BreakerSettings, BreakerState};
pub use classify::{fault_of_error_json, fault_of_status};
pub use counts::Counts;
pub use exchange::Exchange;
pub use failure::{ErrorKind, UpstreamError};
pub use http::{Http, HttpError, HttpSettings};
pub use upstream::Upstream;
