//! `POST /v1/answer`, as JSON or as an event stream.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use pipeline::Wants;

use crate::ask::understand;
use crate::finished::{Finished, Unfinished};
use crate::problem::Problem;
use crate::received::Received;
use crate::service::Service;
use crate::stream;
use crate::wire::AnswerBody;

pub(crate) async fn answer(
    State(service): State<Arc<Service>>,
    Extension(received): Extension<Received>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let asked = understand(&service, &received, &headers, body, Wants::Answer).await?;
    if asked.streams {
        return Ok(stream::respond(service, received, asked));
    }
    // When the client goes away, this future is dropped where it stands, and the work with it.
    let unfinished = Unfinished::new("answer", &received, &asked, &service);
    let answered = service.pipeline.answer(&asked.request).await;
    unfinished.finish();
    let envelope = Finished::envelope(&received, &asked);
    let finished = Finished {
        endpoint: "answer",
        received: &received,
        asked: &asked,
        kind: answered.answer.kind.as_str(),
        reasons: answered.reasons(),
        stages: &answered.stages,
        attempts: answered.attempts,
        model: answered.model.as_ref(),
        calls: &answered.calls,
        trace: &answered.trace,
        spent: envelope.spent,
        first_content: envelope.spent,
        streamed: false,
    };
    Ok(finished.respond(&service, &AnswerBody::new(envelope, &answered)))
}
