//! What is left to do once a request has been answered: its log line, its ledger entry, its headers.

use std::fmt::Write;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use domain::{Degradation, ModelUse, Stage, StageReport};
use ledger::{CallEntry, CallFate, Entry, Models, StageEntry};
use pipeline::policy::Calls;
use pipeline::{Fate, ModelCall, Trace};
use serde::Serialize;
use tokio::time::Instant;

use crate::ask::Asked;
use crate::received::Received;
use crate::service::Service;
use crate::wire::{Envelope, degraded, ms};

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const REMAINING: HeaderName = HeaderName::from_static("x-deadline-remaining-ms");

/// The kind of a request whose client went away.
const ABANDONED: &str = "abandoned";

/// One finished request, whatever it asked for.
pub(crate) struct Finished<'a> {
    pub(crate) endpoint: &'static str,
    pub(crate) received: &'a Received,
    pub(crate) asked: &'a Asked,
    /// The answer's kind, or `hits`.
    pub(crate) kind: &'static str,
    pub(crate) reasons: Vec<Degradation>,
    pub(crate) stages: &'a [StageReport],
    /// How often each stage was called.
    pub(crate) attempts: Calls,
    pub(crate) model: Option<&'a ModelUse>,
    pub(crate) calls: &'a [ModelCall],
    pub(crate) trace: &'a Trace,
    /// From *t0* to the rendered body.
    pub(crate) spent: Duration,
    /// From *t0* to the first text on its way to the client.
    pub(crate) first_content: Duration,
    /// Whether the response is an event stream.
    pub(crate) streamed: bool,
}

/// A request under way; if it is dropped before its end, which is what happens when its client goes away, it is
/// logged and recorded as abandoned, with what its calls have cost.
#[derive(Debug)]
pub(crate) struct Unfinished<'a> {
    endpoint: &'static str,
    received: &'a Received,
    asked: &'a Asked,
    service: &'a Service,
    is_finished: bool,
}

impl Finished<'_> {
    pub(crate) fn envelope(received: &Received, asked: &Asked) -> Envelope {
        Envelope {
            id: received.id.to_string(),
            generation: asked.request.generation.id().number,
            budget_requested: asked.budget_requested,
            budget_total: asked.budget_total,
            spent: received.at.elapsed(),
        }
    }

    /// Logs and records the request, and turns `body` into its response.
    pub(crate) fn respond(self, service: &Service, body: &impl Serialize) -> Response {
        let mut response = Json(body).into_response();
        self.set_headers(response.headers_mut());
        self.note(service);
        response
    }

    /// Logs and records the request: once, however it is answered.
    pub(crate) fn note(self, service: &Service) {
        self.log();
        service.observed.finished(&self);
        service.recorder.record(self.into_entry());
    }

    /// One line per request: names and times, never text.
    fn log(&self) {
        let took = |stage: Stage| {
            self.stages.iter().find(|report| report.stage == stage).map(|report| ms(report.elapsed))
        };
        tracing::info!(
            target: "kiwari::request",
            request_id = %self.received.id,
            endpoint = self.endpoint,
            app = %self.asked.request.generation.id().app,
            kind = self.kind,
            degraded = degraded(&self.reasons),
            reasons = reason_list(&self.reasons),
            generation = self.asked.request.generation.id().number,
            budget_ms = ms(self.asked.budget_total),
            spent_ms = ms(self.spent),
            first_content_ms = ms(self.first_content),
            streamed = self.streamed,
            normalize_ms = took(Stage::Normalize),
            keyword_ms = took(Stage::Keyword),
            embed_ms = took(Stage::Embed),
            vector_ms = took(Stage::Vector),
            generate_ms = took(Stage::Generate),
            template_ms = took(Stage::Template),
            "answered"
        );
    }

    /// `None` for a search, whose passages come all at once.
    pub(crate) fn first_content_of_answer(&self) -> Option<Duration> {
        (self.endpoint == "answer").then_some(self.first_content)
    }

    fn set_headers(&self, headers: &mut HeaderMap) {
        let remaining = self.asked.request.deadline.remaining_at(Instant::now()).as_millis();
        // Stage names and numbers are plain ASCII.
        if let Ok(value) = HeaderValue::from_str(&server_timing(self.stages)) {
            headers.insert(SERVER_TIMING, value);
        }
        if let Ok(value) = HeaderValue::from_str(&remaining.to_string()) {
            headers.insert(REMAINING, value);
        }
    }

    fn into_entry(self) -> Entry {
        let begun = begun(self.endpoint, self.received, self.asked);
        Entry {
            spent: self.spent,
            streamed: self.streamed,
            first_content: self.first_content_of_answer(),
            kind: self.kind,
            degraded: degraded(&self.reasons),
            model: self.model.map(models),
            trace: serde_json::to_string(self.trace).unwrap_or_default(),
            stages: self.stages.iter().map(|report| stage(*report, self.attempts)).collect(),
            calls: self.calls.iter().map(call).collect(),
            reasons: self.reasons,
            ..begun
        }
    }
}

impl<'a> Unfinished<'a> {
    pub(crate) fn new(
        endpoint: &'static str,
        received: &'a Received,
        asked: &'a Asked,
        service: &'a Service,
    ) -> Self {
        service.observed.begun(&asked.request.generation.id().app, endpoint);
        Self { endpoint, received, asked, service, is_finished: false }
    }

    /// All is well.
    pub(crate) fn finish(mut self) {
        self.is_finished = true;
    }
}

impl Unfinished<'_> {
    /// Neither stages nor times of it are those of an answer.
    fn entry(&self) -> Entry {
        let calls = self.asked.request.abandoned.take();
        let begun = begun(self.endpoint, self.received, self.asked);
        Entry { calls: calls.iter().map(call).collect(), ..begun }
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        self.service.observed.cancelled(&self.asked.request.generation.id().app, self.endpoint);
        // A panic is logged as what it is.
        if std::thread::panicking() {
            return;
        }
        tracing::info!(
            target: "kiwari::request",
            request_id = %self.received.id,
            endpoint = self.endpoint,
            app = %self.asked.request.generation.id().app,
            kind = ABANDONED,
            generation = self.asked.request.generation.id().number,
            budget_ms = ms(self.asked.budget_total),
            spent_ms = ms(self.received.at.elapsed()),
            "the client went away"
        );
        self.service.recorder.record(self.entry());
    }
}

/// What is known of a request before it has ended: that of one which never does.
fn begun(endpoint: &'static str, received: &Received, asked: &Asked) -> Entry {
    let request = &asked.request;
    Entry {
        request_id: received.id,
        client_request_id: received.client_id.clone(),
        endpoint,
        app: request.generation.id().app.clone(),
        segment: None,
        lang: request.question.lang(),
        received_at: received.wall,
        budget_requested: asked.budget_requested,
        budget_total: asked.budget_total,
        spent: received.at.elapsed(),
        streamed: asked.streams,
        first_content: None,
        kind: ABANDONED,
        degraded: false,
        reasons: Vec::new(),
        model: None,
        generation: request.generation.id().number,
        calibration: asked.calibration,
        minimums: request.allotment.minimums(),
        trace: "{}".to_owned(),
        stages: Vec::new(),
        calls: Vec::new(),
    }
}

fn models(used: &ModelUse) -> Models {
    Models { requested: used.requested.clone(), served: used.served.clone() }
}

fn stage(report: StageReport, attempts: Calls) -> StageEntry {
    match attempts.of(report.stage) {
        Some(attempts) => StageEntry::new(report, attempts),
        None => report.into(),
    }
}

fn call(call: &ModelCall) -> CallEntry {
    CallEntry {
        model: call.model.clone(),
        attempt: call.attempt,
        started: call.started,
        elapsed: call.elapsed,
        first_token: call.first_token,
        fate: match call.fate {
            Fate::Used => CallFate::Used,
            Fate::Replaced => CallFate::Replaced,
            Fate::Lost(reason) => CallFate::Lost(reason),
            Fate::Abandoned => CallFate::Abandoned,
        },
        usage: call.usage,
        cost_micros: call.cost_micros,
    }
}

/// `embed:timeout vector:error`.
fn reason_list(reasons: &[Degradation]) -> String {
    let mut list = String::new();
    for degradation in reasons {
        if !list.is_empty() {
            list.push(' ');
        }
        // Writing to a String cannot fail.
        let _infallible =
            write!(list, "{}:{}", degradation.stage.as_str(), degradation.reason.as_str());
    }
    list
}

/// The stages that ran, as the W3C's `Server-Timing` has it.
fn server_timing(stages: &[StageReport]) -> String {
    let ran = stages.iter().filter(|report| !report.elapsed.is_zero());
    let metrics: Vec<String> =
        ran.map(|report| format!("{};dur={}", report.stage.as_str(), ms(report.elapsed))).collect();
    metrics.join(", ")
}
