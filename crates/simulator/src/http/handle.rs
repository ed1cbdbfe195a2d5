//! From a request to the reply that is due, and the wait between.

use std::future::pending;
use std::sync::Arc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Request, Response, StatusCode, Version};
use thiserror::Error;
use tokio::time::{Instant, sleep_until};

use super::body::Played;
use super::reply::{Outline, Reply};
use super::route::Route;
use super::socket::Line;
use super::{GeminiCall, OpenAiCall, OpenAiFlavour, Received, admin, credentials};
use crate::journal::Call;
use crate::state::State;
use crate::{gemini, openai};

/// Why a connection ends without a reply.
#[derive(Debug, Error)]
pub(crate) enum NoReply {
    #[error("refused on purpose")]
    Refused,
    #[error("the request did not arrive whole")]
    Request(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The largest request, as the API has it for inline data.
const LARGEST_BODY: usize = 20 << 20;

pub(super) async fn handle(
    state: Arc<State>,
    line: Arc<Line>,
    request: Request<Incoming>,
) -> Result<Response<Played>, NoReply> {
    let start = Instant::now();
    let (head, body) = request.into_parts();
    let line = (head.version < Version::HTTP_2).then_some(line);
    let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
    let route = Route::of(&head.method, path, query);
    let mut call = (route != Route::Admin).then(|| state.journal.begin(route.kind(), path, start));
    let body = Limited::new(body, LARGEST_BODY).collect().await.map_err(NoReply::Request)?;
    let received =
        Received { headers: head.headers, query: query.to_owned(), body: body.to_bytes() };
    let reply = match &mut call {
        None => Reply::Send(admin::answer(&state, &head.method, path, &received)),
        Some(call) => Box::pin(answer(&state, &route, &received, call)).await,
    };
    let outline = match reply {
        Reply::Send(outline) => outline,
        Reply::Hang => return pending().await,
        Reply::Refuse => {
            line.iter().for_each(|line| line.reset_when_dropped());
            call.iter_mut().for_each(Call::end);
            return Err(NoReply::Refused);
        }
    };
    Ok(send(outline, start, call, line).await)
}

async fn answer(state: &State, route: &Route, received: &Received, call: &mut Call) -> Reply {
    match route {
        Route::Gemini(asked) => gemini::answer(state, asked, received, call).await,
        Route::OpenAi(flavour, asked) => {
            openai::answer(state, *flavour, asked, received, call).await
        }
        Route::EitherModels if credentials::is_openai_style(received) => {
            let (flavour, asked) = (OpenAiFlavour::Plain, OpenAiCall::ListModels);
            openai::answer(state, flavour, &asked, received, call).await
        }
        Route::EitherModels => gemini::answer(state, &GeminiCall::ListModels, received, call).await,
        Route::Nowhere | Route::Admin => {
            gemini::answer(state, &GeminiCall::Unknown, received, call).await
        }
    }
}

/// Waits until the head of the reply is due; the body waits for itself.
async fn send(
    outline: Outline,
    start: Instant,
    mut call: Option<Call>,
    line: Option<Arc<Line>>,
) -> Response<Played> {
    if let Some(call) = &mut call {
        call.decodes(outline.decoding);
        call.entry_mut().status = Some(outline.status);
    }
    let due = start + outline.after;
    if due > Instant::now() {
        sleep_until(due).await;
    }
    let mut response = Response::new(Played::new(outline.steps, start, call, line));
    *response.status_mut() =
        StatusCode::from_u16(outline.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(outline.content_type));
    headers.extend(outline.headers);
    response
}
