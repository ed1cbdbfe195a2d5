//! [`Played`]: a body whose pieces come when they are due.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use thiserror::Error;
use tokio::time::{Duration, Instant, Sleep, sleep_until};

use super::reply::{Act, Step};
use super::socket::Line;
use crate::journal::Call;

/// The simulator gave the connection up, as it was meant to.
#[derive(Debug, Error)]
#[error("the connection is given up on purpose")]
pub(crate) struct GivenUp;

/// How long after the last piece a connection is given up at the earliest: what was sent should get through.
const PARTING: Duration = Duration::from_millis(10);

/// Sends the steps of a reply. Dropped before its end, it tells the journal that the client has gone.
#[derive(Debug)]
pub(crate) struct Played {
    start: Instant,
    steps: VecDeque<Step>,
    timer: Option<Pin<Box<Sleep>>>,
    call: Option<Call>,
    /// The connection, where giving up a reply means giving it up.
    line: Option<Arc<Line>>,
    last_sent: Instant,
}

impl Played {
    /// The body of `call`'s reply; its steps' times count from `start`.
    pub(crate) fn new(
        steps: Vec<Step>,
        start: Instant,
        mut call: Option<Call>,
        line: Option<Arc<Line>>,
    ) -> Self {
        if steps.is_empty() {
            call.iter_mut().for_each(Call::end);
        }
        Self { start, steps: steps.into(), timer: None, call, line, last_sent: start }
    }

    fn send(&mut self, bytes: Bytes, tokens: u32) -> Frame<Bytes> {
        self.last_sent = Instant::now();
        let whole = self.steps.is_empty();
        if let Some(call) = &mut self.call {
            call.sent(bytes.len(), tokens);
            if whole {
                call.end();
            }
        }
        Frame::data(bytes)
    }

    fn give_up(&mut self, reset: bool) -> GivenUp {
        if let (true, Some(line)) = (reset, &self.line) {
            line.reset_when_dropped();
        }
        self.end();
        GivenUp
    }

    fn end(&mut self) {
        self.call.iter_mut().for_each(Call::end);
    }

    /// Waits until `due`.
    fn wait(&mut self, due: Instant, context: &mut Context<'_>) -> Poll<()> {
        if due <= Instant::now() {
            return Poll::Ready(());
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if timer.deadline() != due {
            timer.as_mut().reset(due);
        }
        timer.as_mut().poll(context)
    }
}

impl Body for Played {
    type Data = Bytes;
    type Error = GivenUp;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, GivenUp>>> {
        let Some(next) = self.steps.front() else {
            self.end();
            return Poll::Ready(None);
        };
        let planned = self.start + next.at;
        let due = match next.act {
            Act::Send { .. } => planned,
            Act::Break { .. } => planned.max(self.last_sent + PARTING),
            // Whoever polls also watches the connection, and drops this when the client goes.
            Act::Stall => return Poll::Pending,
        };
        ready!(self.wait(due, context));
        Poll::Ready(match self.steps.pop_front().map(|step| step.act) {
            Some(Act::Send { bytes, tokens }) => Some(Ok(self.send(bytes, tokens))),
            Some(Act::Break { reset }) => Some(Err(self.give_up(reset))),
            Some(Act::Stall) | None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        // Only a reply in one piece says how long it is; others are chunked, as from the real thing.
        match (self.steps.len(), self.steps.front().map(|step| &step.act)) {
            (0, _) => SizeHint::with_exact(0),
            (1, Some(Act::Send { bytes, .. })) => SizeHint::with_exact(bytes.len() as u64),
            _ => SizeHint::default(),
        }
    }
}
