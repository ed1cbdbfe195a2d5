//! `GET /metrics`: what there is to watch, in Prometheus' text format.
//!
//! What requests leave behind is counted as they finish ([`Observed`]); everything else is asked for when somebody
//! looks. Labels take values from what is configured or published and from closed vocabularies, never from what
//! clients send.

mod exposition;
mod histogram;
mod observed;
mod requests;
mod state;

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

pub(crate) use observed::Observed;

use crate::service::Service;
use exposition::Exposition;

const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Everything, as of now.
pub(crate) async fn metrics(State(service): State<Arc<Service>>) -> Response {
    let mut page = Exposition::default();
    requests::write(&mut page, &service.observed.snapshot());
    state::write(&mut page, &service);
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], page.into_text()).into_response()
}
