//! One request and what came of it.

use std::time::Duration;

use bytes::Bytes;
use deadline::{Deadline, OutOfTime};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::{Request, Response, StatusCode};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::time::Instant;

use super::client::{Client, post};
use super::options::Bench;
use super::reply::{Body, Reply};
use super::schedule::Arrival;
use super::stream::{BrokenStream, Events};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What all requests of a run share.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    client: Client,
    path: PathAndQuery,
    host: HeaderValue,
    seed: u64,
    stream: bool,
    patience: Duration,
}

/// The moments of one request, and its reply.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// From 1.
    pub(crate) number: u64,
    /// When it was to be sent.
    pub(crate) planned: Instant,
    /// When it was handed to a connection; `None`: there was none.
    pub(crate) sent: Option<Instant>,
    /// When the first sentence had been read, of a stream.
    pub(crate) first_content: Option<Instant>,
    /// When all had been read, or was given up.
    pub(crate) ended: Instant,
    pub(crate) status: Option<u16>,
    pub(crate) reply: Result<Reply, Failure>,
}

/// Why there is no reply to count.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("cannot connect")]
    Connect(#[source] std::io::Error),
    #[error("the connection broke")]
    Broken(#[from] hyper::Error),
    #[error("no reply in time")]
    GivenUp(#[from] OutOfTime),
    #[error("status {} {code}", status.as_u16())]
    Status { status: StatusCode, code: String },
    #[error("the reply cannot be read")]
    Unreadable(#[from] serde_json::Error),
    #[error("the stream is wrong")]
    Stream(#[from] BrokenStream),
}

#[derive(Serialize)]
struct Question<'a> {
    question: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    app: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
}

/// What a refusal says for programs.
#[derive(Deserialize)]
struct Problem {
    code: String,
}

/// What the server is told that a request is called.
pub(crate) fn name(seed: u64, number: u64) -> String {
    format!("bench-{seed}-{number}")
}

/// The bodies of requests for `questions`, made once.
pub(crate) fn bodies(bench: &Bench, questions: &[String]) -> serde_json::Result<Vec<Bytes>> {
    let app = bench.app.as_ref().map(domain::AppName::as_str);
    let body = |question: &String| {
        let (budget_ms, stream) = (bench.budget_ms, bench.stream.then_some(true));
        serde_json::to_vec(&Question { question, app, budget_ms, stream }).map(Bytes::from)
    };
    questions.iter().map(body).collect()
}

impl Asking {
    pub(crate) async fn new(bench: &Bench) -> anyhow::Result<Self> {
        Ok(Self {
            client: Client::new(&bench.url).await?,
            path: bench.url.path("/v1/answer")?,
            host: HeaderValue::from_str(&bench.url.authority())?,
            seed: bench.seed,
            stream: bench.stream,
            patience: bench.patience(),
        })
    }

    /// Sends one request and reads its reply to the end.
    pub(crate) async fn exchange(self, arrival: Arrival, body: Bytes) -> Exchange {
        let mut exchange = Exchange {
            number: arrival.number,
            planned: arrival.at,
            sent: None,
            first_content: None,
            ended: arrival.at,
            status: None,
            reply: Err(Failure::GivenUp(OutOfTime)),
        };
        let request = self.request(arrival.number, body);
        let deadline = Deadline::after(self.patience);
        let came = deadline.run(self.converse(request, &mut exchange)).await;
        exchange.reply = came.map_err(Failure::from).flatten();
        exchange.ended = Instant::now();
        exchange
    }

    fn request(&self, number: u64, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = post(self.path.clone(), body);
        let headers = request.headers_mut();
        headers.insert(HOST, self.host.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = if self.stream { "text/event-stream" } else { "application/json" };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        // Digits and dashes are plain ASCII.
        if let Ok(name) = HeaderValue::from_str(&name(self.seed, number)) {
            headers.insert(REQUEST_ID, name);
        }
        request
    }

    async fn converse(
        &self,
        request: Request<Full<Bytes>>,
        exchange: &mut Exchange,
    ) -> Result<Reply, Failure> {
        let mut connection = self.client.connection().await.map_err(Failure::Connect)?;
        exchange.sent = Some(Instant::now());
        let (sender, driver) = connection.halves();
        let reply = driver.drive(read(sender, request, exchange)).await;
        // What a failure left half read cannot be used again.
        if matches!(&reply, Ok(_) | Err(Failure::Status { .. })) {
            self.client.keep(connection);
        }
        reply
    }
}

async fn read(
    sender: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
    exchange: &mut Exchange,
) -> Result<Reply, Failure> {
    let response = sender.send_request(request).await?;
    let status = response.status();
    exchange.status = Some(status.as_u16());
    if status != StatusCode::OK {
        let bytes = response.into_body().collect().await?.to_bytes();
        let code = serde_json::from_slice(&bytes).map(|problem: Problem| problem.code);
        return Err(Failure::Status { status, code: code.unwrap_or_default() });
    }
    if is_stream(&response) {
        return read_stream(response.into_body(), exchange).await;
    }
    let bytes = response.into_body().collect().await?.to_bytes();
    Ok(Body::read(&bytes)?.reply())
}

fn is_stream(response: &Response<Incoming>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

async fn read_stream(mut body: Incoming, exchange: &mut Exchange) -> Result<Reply, Failure> {
    let mut events = Events::default();
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame?.into_data() else { continue };
        events.take(&bytes)?;
        if exchange.first_content.is_none() && events.has_text() {
            exchange.first_content = Some(Instant::now());
        }
    }
    Ok(events.finish()?)
}
