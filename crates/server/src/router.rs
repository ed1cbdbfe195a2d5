//! Which path leads where, and what stands around all of them.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use tower_http::catch_panic::CatchPanicLayer;

use crate::problem::{Code, Problem};
use crate::received::stamp;
use crate::service::Service;
use crate::{answer, health, metrics, reports, search_passages};

/// The whole HTTP surface over `service`.
pub fn router(service: Arc<Service>) -> Router {
    let observed = Arc::clone(&service.observed);
    let routes = Router::new()
        .route("/v1/answer", only("POST", post(answer::answer)))
        .route("/v1/search", only("POST", post(search_passages::search)))
        .route("/livez", only("GET, HEAD", get(health::livez)))
        .route("/readyz", only("GET, HEAD", get(health::readyz)))
        .route("/health", only("GET, HEAD", get(health::health)));
    let routes = match service.reports {
        Some(_) => routes
            .route("/metrics", only("GET, HEAD", get(metrics::metrics)))
            .route("/v1/reports", only("GET, HEAD", get(reports::list)))
            .route("/v1/reports/{name}", only("GET, HEAD", get(reports::report))),
        None => routes,
    };
    routes
        .fallback(not_found)
        .with_state(service)
        // A broken invariant costs one response, not the process.
        .layer(CatchPanicLayer::custom(panicked))
        // Outermost: t0 is the moment at which the head has been parsed.
        .layer(from_fn_with_state(observed, stamp))
}

/// Answers other methods with a problem document that names the right ones.
fn only(methods: &'static str, route: MethodRouter<Arc<Service>>) -> MethodRouter<Arc<Service>> {
    route.fallback(move || async move {
        Problem::new(Code::MethodNotAllowed, format!("this path takes {methods}")).allowing(methods)
    })
}

async fn not_found() -> Problem {
    Problem::new(Code::NotFound, "there is nothing at this path; questions go to POST /v1/answer")
}

fn panicked(_panic: Box<dyn Any + Send>) -> Response {
    tracing::error!("a request handler panicked");
    Problem::new(Code::Internal, "something broke on our side; it has been logged").into_response()
}
