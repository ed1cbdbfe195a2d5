//! `POST /v1/search`: passages only, per keystroke.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use pipeline::Wants;

use crate::ask::understand;
use crate::finished::Finished;
use crate::highlights::Highlights;
use crate::problem::Problem;
use crate::received::Received;
use crate::service::Service;
use crate::wire::SearchBody;

pub(crate) async fn search(
    State(service): State<Arc<Service>>,
    Extension(received): Extension<Received>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let asked = understand(&service, &received, &headers, body, Wants::Passages).await?;
    let found = service.pipeline.search(&asked.request).await;
    let request = &asked.request;
    let highlights = Highlights::new(request.generation.clone(), request.question.text());
    let envelope = Finished::envelope(&received, &asked);
    let finished = Finished {
        endpoint: "search",
        received: &received,
        asked: &asked,
        kind: "hits",
        reasons: found.reasons(),
        stages: &found.stages,
        trace: &found.trace,
        spent: envelope.spent,
    };
    Ok(finished.respond(&service, &SearchBody::new(envelope, &found, &highlights)))
}
