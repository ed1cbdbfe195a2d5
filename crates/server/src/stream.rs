//! An answer as an event stream: `sources`, then one `delta` per finished sentence or more, at most one `replace`,
//! and exactly one `done`.
//!
//! The pipeline runs in a task of its own, which the response's body holds: a client that stops reading neither
//! holds up its deadline nor pins a generation, and when a client goes away, its body is dropped and the task with
//! it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::Hit;
use pipeline::{Answered, Event};
use serde::Serialize;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::ask::Asked;
use crate::event_body::EventBody;
use crate::finished::{Finished, Unfinished};
use crate::received::Received;
use crate::service::Service;
use crate::wire::{AnswerBody, DoneBody, SourcesBody, TextBody};

/// Events that may wait for a client; a longer answer reaches one that reads nothing all at once, at the end.
const QUEUE: usize = 64;

const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Starts answering `asked`, and returns at once.
pub(crate) fn respond(service: Arc<Service>, received: Received, asked: Asked) -> Response {
    let (events, queued) = mpsc::channel(QUEUE);
    let (ending, awaited) = oneshot::channel();
    let teller = Teller::new(events, received.at);
    let tasks = service.tasks.clone();
    let task = tasks.spawn(async move {
        let last = answer(&service, &received, &asked, teller).await;
        // A client that has just gone away misses nothing.
        let _gone = ending.send(last);
    });
    let body = EventBody::new(queued, awaited, AbortOnDropHandle::new(task));
    let mut response = Body::new(body).into_response();
    let mut set =
        |name, value| response.headers_mut().insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_TYPE, "text/event-stream");
    set(header::CACHE_CONTROL, "no-store");
    // Proxies that would collect the whole response first leave it alone.
    set(ACCEL_BUFFERING, "no");
    response
}

/// Answers, telling on the way; what remains to be said is returned.
async fn answer(
    service: &Service,
    received: &Received,
    asked: &Asked,
    mut teller: Teller,
) -> Bytes {
    let unfinished = Unfinished::new("answer", received, asked, service);
    let request = &asked.request;
    let answered = service.pipeline.answer_telling(request, &mut |event| teller.tell(event)).await;
    unfinished.finish();
    let envelope = Finished::envelope(received, asked);
    let spent = envelope.spent;
    let finished = Finished {
        endpoint: "answer",
        received,
        asked,
        kind: answered.answer.kind.as_str(),
        reasons: answered.reasons(),
        stages: &answered.stages,
        attempts: answered.attempts,
        model: answered.model.as_ref(),
        calls: &answered.calls,
        trace: &answered.trace,
        spent,
        first_content: teller.first_content.unwrap_or(spent),
        streamed: true,
    };
    finished.note(service);
    let remaining = request.deadline.remaining();
    teller.last(&answered, &DoneBody::new(AnswerBody::new(envelope, &answered), remaining))
}

/// Puts what the pipeline tells into the client's queue, without ever waiting for room.
#[derive(Debug)]
struct Teller {
    events: mpsc::Sender<Bytes>,
    start: Instant,
    /// The text that has been queued.
    told: String,
    /// The queue was full when text came: from there on the text follows at the end.
    is_behind: bool,
    /// From the request's start to the first text queued.
    first_content: Option<Duration>,
}

impl Teller {
    fn new(events: mpsc::Sender<Bytes>, start: Instant) -> Self {
        Self { events, start, told: String::new(), is_behind: false, first_content: None }
    }

    fn tell(&mut self, event: Event) {
        match event {
            Event::Sources(hits) => self.tell_sources(&hits),
            Event::Text(text) => self.tell_text(&text),
        }
    }

    fn tell_sources(&self, hits: &[Hit]) {
        // They come first, and once: there is room. With the client gone there is nobody to tell.
        let _gone = self.events.try_send(event("sources", &SourcesBody::new(hits)));
    }

    fn tell_text(&mut self, text: &str) {
        if self.is_behind {
            return;
        }
        match self.events.try_send(event("delta", &TextBody { text })) {
            Ok(()) => {
                self.told.push_str(text);
                self.first_content.get_or_insert_with(|| self.start.elapsed());
            }
            Err(TrySendError::Full(_)) => self.is_behind = true,
            Err(TrySendError::Closed(_)) => {}
        }
    }

    /// What of the text has not been told, or all of it if it has become another one; and `done`.
    fn last(self, answered: &Answered, done: &DoneBody) -> Bytes {
        let mut last = self.correction(&answered.answer.text);
        last.extend_from_slice(&event("done", done));
        last.into()
    }

    fn correction(&self, text: &str) -> Vec<u8> {
        match text.strip_prefix(self.told.as_str()) {
            Some("") => Vec::new(),
            Some(rest) => event("delta", &TextBody { text: rest }).into(),
            None => event("replace", &TextBody { text }).into(),
        }
    }
}

/// One event as it goes over the wire; JSON holds no line break.
fn event(name: &str, data: &impl Serialize) -> Bytes {
    let mut event = format!("event: {name}\ndata: ").into_bytes();
    serde_json::to_writer(&mut event, data).expect("the wire's types have string keys only");
    event.extend_from_slice(b"\n\n");
    event.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn teller(room: usize) -> (Teller, mpsc::Receiver<Bytes>) {
        let (events, queued) = mpsc::channel(room);
        (Teller::new(events, Instant::now()), queued)
    }

    /// What a client reads when these texts are told with room for `room` events and the answer is `text`.
    #[track_caller]
    fn check(room: usize, told: &[&str], text: &str, expected: &[&str]) {
        let (mut teller, mut queued) = teller(room);
        told.iter().for_each(|text| teller.tell(Event::Text((*text).to_owned())));
        let correction = teller.correction(text);
        let mut read = Vec::new();
        while let Ok(event) = queued.try_recv() {
            read.push(event);
        }
        read.extend((!correction.is_empty()).then(|| correction.into()));
        let read: Vec<String> =
            read.iter().map(|event| String::from_utf8_lossy(event).into_owned()).collect();
        let expected: Vec<String> = expected
            .iter()
            .filter_map(|event| event.split_once(' '))
            .map(|(name, text)| format!("event: {name}\ndata: {{\"text\":\"{text}\"}}\n\n"))
            .collect();
        assert_eq!(read, expected);
    }

    #[test]
    fn what_is_told_adds_up_to_the_answer_or_is_replaced() {
        check(9, &["A. ", "B."], "A. B.", &["delta A. ", "delta B."]);
        check(9, &["A. "], "A. B.", &["delta A. ", "delta B."]);
        check(9, &[], "C.", &["delta C."]);
        check(9, &["A. "], "C.", &["delta A. ", "replace C."]);
        check(9, &["A. B."], "A.", &["delta A. B.", "replace A."]);
        check(9, &["A.\n\"B\""], "A.\n\"B\"", &["delta A.\\n\\\"B\\\""]);
    }

    #[test]
    fn a_client_that_falls_behind_gets_the_rest_at_the_end_and_in_order() {
        check(1, &["A. ", "B. ", "C."], "A. B. C.", &["delta A. ", "delta B. C."]);
        check(1, &["A. ", "B. ", "C."], "D.", &["delta A. ", "replace D."]);
    }

    #[test]
    fn the_first_text_that_finds_room_is_the_first_content() {
        let (mut teller, _queued) = teller(1);
        assert_eq!(teller.first_content, None);
        teller.tell(Event::Text("A. ".to_owned()));
        let first = teller.first_content;
        assert!(first.is_some());
        teller.tell(Event::Text("B. ".to_owned()));
        assert_eq!(teller.first_content, first);
    }
}
