//! `POST /v1/answer`.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use pipeline::Wants;

use crate::ask::understand;
use crate::finished::Finished;
use crate::problem::Problem;
use crate::received::Received;
use crate::service::Service;
use crate::wire::AnswerBody;

pub(crate) async fn answer(
    State(service): State<Arc<Service>>,
    Extension(received): Extension<Received>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let asked = understand(&service, &received, &headers, body, Wants::Answer).await?;
    let answered = service.pipeline.answer(&asked.request).await;
    let envelope = Finished::envelope(&received, &asked);
    let finished = Finished {
        endpoint: "answer",
        received: &received,
        asked: &asked,
        kind: answered.answer.kind.as_str(),
        reasons: answered.reasons(),
        stages: &answered.stages,
        trace: &answered.trace,
        spent: envelope.spent,
    };
    Ok(finished.respond(&service, &AnswerBody::new(envelope, &answered)))
}
