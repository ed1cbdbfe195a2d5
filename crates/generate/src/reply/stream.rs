//! The stream of deltas over an exchange with an upstream.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use deadline::Deadline;
use domain::{Call, Delta, DeltaStream, Fault, FaultKind};
use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use upstream::{Bytes, Exchange, Upstream, fault_of_error_json};

use super::documents::Documents;
use super::progress::Progress;
use super::{ReadChunk, ReplyError};

/// How long a model that said it is done may take to add counts and to end the body, which lets the connection be
/// used again. Rarely reached: both follow at once.
const LINGER: Duration = Duration::from_millis(100);

/// What a stream of OpenAI's kind ends with.
const DONE: &str = "[DONE]";

/// A streamed exchange to be made.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
    /// The model asked.
    pub(crate) model: String,
    pub(crate) read: ReadChunk,
}

/// The reply to `request`, which is sent when the stream is first polled.
pub(crate) fn deltas(request: Request, call: Call) -> DeltaStream {
    let reply = Reply {
        progress: Progress::new(&request.model),
        read: request.read,
        state: State::Unsent(request),
        call,
        documents: Documents::default(),
        ready: VecDeque::new(),
        fault: None,
    };
    stream::unfold(reply, |mut reply| async { Some((reply.next().await?, reply)) }).boxed()
}

/// A reply to be asked for, under way, or over.
struct Reply {
    state: State,
    call: Call,
    read: ReadChunk,
    documents: Documents,
    progress: Progress,
    /// Understood and not yet given out.
    ready: VecDeque<Delta>,
    /// To be given out after those.
    fault: Option<Fault>,
}

enum State {
    Unsent(Request),
    /// With the moment until which the end of the body is waited for, once nothing else is.
    Open(Exchange, Option<Deadline>),
    Over,
}

impl Reply {
    async fn next(&mut self) -> Option<Result<Delta, Fault>> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some(Ok(delta));
            }
            if let Some(fault) = self.fault.take() {
                return Some(Err(fault));
            }
            match &mut self.state {
                State::Over => return None,
                State::Unsent(_) => self.send().await,
                State::Open(exchange, linger) => {
                    let received = receive(exchange, *linger).await;
                    self.take(received);
                }
            }
        }
    }

    async fn send(&mut self) {
        let State::Unsent(request) = std::mem::replace(&mut self.state, State::Over) else {
            return;
        };
        let Request { upstream, path, body, .. } = request;
        match upstream.open(&path, body, &self.call).await {
            Ok(exchange) => self.state = State::Open(exchange, None),
            Err(fault) => self.fault = Some(fault),
        }
    }

    fn take(&mut self, received: Result<Option<Bytes>, Fault>) {
        match received {
            Ok(Some(bytes)) => self.take_bytes(&bytes),
            Ok(None) => self.end(),
            // The answer is whole already.
            Err(_) if self.progress.is_finished() => self.end(),
            Err(fault) => self.fail(fault),
        }
    }

    fn take_bytes(&mut self, bytes: &[u8]) {
        let mut documents = Vec::new();
        // What came before a fault counts.
        let pushed = self.documents.push(bytes, &mut documents).map_err(unusable);
        match self.read_all(&documents).and_then(|done| pushed.map(|()| done)) {
            Ok(done) if done || self.progress.is_finished() => self.linger(),
            Ok(_) => {}
            Err(fault) => self.fail(fault),
        }
    }

    /// The body is over, or nothing that is still to come matters.
    fn end(&mut self) {
        let mut documents = Vec::new();
        let pushed = self.documents.end(&mut documents).map_err(unusable);
        let read = self.read_all(&documents).and(pushed);
        match read.and_then(|()| self.progress.end(&mut self.ready)) {
            Ok(true) => self.close(Exchange::succeeded),
            // The stream ends without a finish, which says it all; the far side is to blame nevertheless.
            Ok(false) => self.close(|exchange| exchange.failed(&unusable(ReplyError::CutOff))),
            Err(fault) => self.fail(fault),
        }
    }

    /// Takes in documents; says whether one was the last.
    fn read_all(&mut self, documents: &[String]) -> Result<bool, Fault> {
        let mut done = false;
        for document in documents {
            if document.trim() == DONE {
                done = true;
            } else if !document.trim().is_empty() {
                self.read_one(document)?;
            }
        }
        Ok(done)
    }

    fn read_one(&mut self, document: &str) -> Result<(), Fault> {
        let malformed =
            |error: serde_json::Error| unusable(ReplyError::Malformed(error.classify()));
        let value: Value = serde_json::from_str(document).map_err(malformed)?;
        // Some front ends wrap an error, and a stream that is no event stream, in an array.
        let values = if let Value::Array(values) = value { values } else { vec![value] };
        for value in values {
            if value.get("error").is_some_and(|error| !error.is_null()) {
                return Err(fault_of_error_json(&value));
            }
            let chunk = (self.read)(value).map_err(malformed)?;
            self.progress.take(chunk, &mut self.ready)?;
        }
        Ok(())
    }

    fn linger(&mut self) {
        if let State::Open(_, linger @ None) = &mut self.state {
            *linger = Some(self.call.deadline.slice(LINGER, Duration::ZERO));
        }
    }

    /// The reply is of no use from here on.
    fn fail(&mut self, fault: Fault) {
        self.close(|exchange| exchange.failed(&fault));
        self.fault = Some(fault);
    }

    fn close(&mut self, verdict: impl FnOnce(Exchange)) {
        if let State::Open(exchange, _) = std::mem::replace(&mut self.state, State::Over) {
            verdict(exchange);
        }
    }
}

/// The next bytes of the body; none once it has lingered long enough.
async fn receive(
    exchange: &mut Exchange,
    linger: Option<Deadline>,
) -> Result<Option<Bytes>, Fault> {
    match linger {
        None => exchange.chunk().await,
        Some(linger) => linger.run(exchange.chunk()).await.unwrap_or(Ok(None)),
    }
}

/// Another try may well get a better reply.
fn unusable(error: ReplyError) -> Fault {
    Fault::new(FaultKind::Error, error).passing(Duration::ZERO)
}
