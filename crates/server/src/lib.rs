//! The HTTP edge: parses, asks the pipeline, renders. How stages work is none of its business.
//!
//! `POST /v1/answer` (JSON or an event stream), `POST /v1/search`, `/livez`, `/readyz`, `/health`. A valid question never gets an
//! error because something upstream was slow; bad input gets an RFC 9457 problem document with a stable
//! `code`.

mod activity;
mod answer;
mod ask;
mod body;
mod connections;
mod event_body;
mod fields;
mod finished;
mod health;
mod highlights;
mod knowledge;
mod patient;
mod problem;
mod received;
mod router;
mod search_passages;
mod serve;
mod service;
mod stream;
pub mod wire;

pub use connections::ConnectionLimits;
pub use knowledge::Knowledge;
pub use problem::{Code, Problem};
pub use router::router;
pub use serve::{ServeError, bind, serve};
pub use service::{Allotted, Service, Settings, Shares};
