//! `POST /v1/search`: passages only, per keystroke.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use domain::Hit;
use pipeline::{Request, Wants};

use crate::ask::understand;
use crate::finished::{Finished, Unfinished};
use crate::highlights::Highlights;
use crate::problem::Problem;
use crate::received::Received;
use crate::service::Service;
use crate::wire::{ArticleHit, SearchBody, by_article};

pub(crate) async fn search(
    State(service): State<Arc<Service>>,
    Extension(received): Extension<Received>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let asked = understand(&service, &received, &headers, body, Wants::Passages).await?;
    let unfinished = Unfinished::new("search", &received, &asked, &service);
    let found = service.pipeline.search(&asked.request).await;
    let hits = marked(&service, &asked.request, &found.hits).await;
    unfinished.finish();
    let envelope = Finished::envelope(&received, &asked);
    let finished = Finished {
        endpoint: "search",
        received: &received,
        asked: &asked,
        kind: "hits",
        reasons: found.reasons(),
        stages: &found.stages,
        attempts: found.attempts,
        model: None,
        calls: &[],
        trace: &found.trace,
        spent: envelope.spent,
        first_content: envelope.spent,
        streamed: false,
    };
    Ok(finished.respond(&service, &SearchBody::new(envelope, &found, hits)))
}

/// The hits by article, with the question's words marked if there is time for it.
async fn marked(service: &Service, request: &Request, hits: &[Hit]) -> Vec<ArticleHit> {
    let analyzer = request.generation.keyword().analyzer();
    let (question, to_mark) = (request.question.text().to_owned(), hits.to_vec());
    let marking = service.pool.run(request.deadline, move |cancel| {
        let highlights = Highlights::new(analyzer, &question);
        by_article(
            &to_mark,
            |text| {
                if cancel.is_raised() { Vec::new() } else { highlights.of(text) }
            },
        )
    });
    // Late or failed: the passages themselves are what matters.
    marking.await.unwrap_or_else(|_unmarked| by_article(hits, |_| Vec::new()))
}
