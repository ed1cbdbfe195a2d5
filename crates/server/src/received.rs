//! [`Received`]: when a request came in and what it is called.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;
use uuid::Uuid;

use crate::metrics::Observed;
use crate::problem::Code;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Client ids longer than this are not kept.
const LONGEST_CLIENT_ID: usize = 128;

/// Taken once per request, as soon as its head has been parsed: *t0* of its deadline.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) at: Instant,
    pub(crate) wall: SystemTime,
    /// Our key.
    pub(crate) id: Uuid,
    /// What the client calls it.
    pub(crate) client_id: Option<String>,
}

impl Received {
    fn now(headers: &HeaderMap) -> Self {
        Self {
            at: Instant::now(),
            wall: SystemTime::now(),
            id: Uuid::now_v7(),
            client_id: client_id(headers),
        }
    }
}

impl Received {
    /// What the request is called: by its client, or else by us.
    pub(crate) fn name(&self) -> String {
        self.client_id.clone().unwrap_or_else(|| self.id.to_string())
    }
}

/// The client's id, if it is short and plain enough to be echoed and logged.
fn client_id(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(&REQUEST_ID)?.to_str().ok()?;
    let fits = !value.is_empty() && value.len() <= LONGEST_CLIENT_ID;
    fits.then(|| value.to_owned())
}

/// The outermost layer: stamps the request, and names it in every response, errors included.
pub(crate) async fn stamp(
    State(observed): State<Arc<Observed>>,
    mut request: Request,
    next: Next,
) -> Response {
    let received = Received::now(request.headers());
    let name = received.name();
    let id = received.id;
    request.extensions_mut().insert(received);
    let mut response = next.run(request).await;
    if let Some(code) = response.extensions().get::<Code>() {
        observed.refused(*code);
        tracing::info!(
            target: "kiwari::request",
            request_id = %id,
            status = response.status().as_u16(),
            code = code.as_str(),
            "refused"
        );
    }
    if let Ok(value) = HeaderValue::from_str(&name) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}
