//! The HTTP edge: parses, asks the pipeline, renders. How stages work is none of its business.
//!
//! `POST /v1/answer` (JSON or an event stream), `POST /v1/search`; for operators `/livez`, `/readyz`, `/health`,
//! `/metrics` and `/v1/reports`. A valid question never gets an error because something upstream was slow; bad input gets an RFC 9457 problem document with a stable
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
mod metrics;
mod patient;
mod problem;
mod received;
mod reports;
mod router;
mod search_passages;
mod serve;
mod service;
mod stream;
mod surroundings;
pub mod wire;

pub use connections::ConnectionLimits;
pub use knowledge::Knowledge;
pub use problem::{Code, Problem};
pub use reports::Reports;
pub use router::router;
pub use serve::{ServeError, bind, serve};
pub use service::{Allotted, Service, Settings, Shares};
pub use surroundings::{Look, Surroundings, UpstreamState, VectorsState};
