//! [`EventBody`]: a response's body made of events as they come.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::task::AbortOnDropHandle;

/// After so long a silence a comment says that the connection is alive; proxies close after a minute or less.
const HEARTBEAT: Duration = Duration::from_secs(2);
const COMMENT: &[u8] = b": still working\n\n";

/// The task that answers ended without an answer.
#[derive(Debug, Error)]
#[error("the answer was lost")]
pub(crate) struct Lost;

/// Events from a queue, then the last ones. Dropping it ends the task that makes them.
#[derive(Debug)]
pub(crate) struct EventBody {
    queued: mpsc::Receiver<Bytes>,
    /// `None` once it has come.
    ending: Option<oneshot::Receiver<Bytes>>,
    silence: Pin<Box<Sleep>>,
    _task: AbortOnDropHandle<()>,
}

impl EventBody {
    pub(crate) fn new(
        queued: mpsc::Receiver<Bytes>,
        ending: oneshot::Receiver<Bytes>,
        task: AbortOnDropHandle<()>,
    ) -> Self {
        Self { queued, ending: Some(ending), silence: Box::pin(sleep(HEARTBEAT)), _task: task }
    }

    /// The next events; `None` after the last ones.
    fn poll_events(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Lost>>> {
        if let Some(event) = ready!(self.queued.poll_recv(context)) {
            return Poll::Ready(Some(Ok(event)));
        }
        let Some(ending) = &mut self.ending else { return Poll::Ready(None) };
        let last = ready!(Pin::new(ending).poll(context));
        self.ending = None;
        let lost = |_closed| {
            tracing::error!("a streamed answer was lost; its task panicked");
            Lost
        };
        Poll::Ready(Some(last.map_err(lost)))
    }

    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<Bytes> {
        self.silence.as_mut().poll(context).map(|()| Bytes::from_static(COMMENT))
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Lost;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Lost>>> {
        let this = self.get_mut();
        let events = match this.poll_events(context) {
            Poll::Ready(events) => events,
            Poll::Pending => Some(Ok(ready!(this.poll_silence(context)))),
        };
        this.silence.as_mut().reset(Instant::now() + HEARTBEAT);
        Poll::Ready(events.map(|events| events.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.ending.is_none()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tokio::task::JoinSet;
    use tokio_util::task::TaskTracker;

    use super::*;

    /// A body, what feeds it, and the task it holds, which never ends by itself.
    struct Fixture {
        events: mpsc::Sender<Bytes>,
        ending: oneshot::Sender<Bytes>,
        body: EventBody,
        tasks: TaskTracker,
    }

    fn fixture() -> Fixture {
        let (events, queued) = mpsc::channel(4);
        let (ending, awaited) = oneshot::channel();
        let tasks = TaskTracker::new();
        let task = AbortOnDropHandle::new(tasks.spawn(std::future::pending()));
        Fixture { events, ending, body: EventBody::new(queued, awaited, task), tasks }
    }

    async fn next(body: &mut EventBody) -> Option<Result<Bytes, Lost>> {
        let frame = body.frame().await?;
        Some(frame.map(|frame| frame.into_data().expect("only data is sent")))
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_queued_goes_before_the_ending() {
        let Fixture { events, ending, mut body, tasks: _tasks } = fixture();
        ending.send(Bytes::from_static(b"last")).unwrap();
        events.send(Bytes::from_static(b"first")).await.unwrap();
        drop(events);
        let read = BodyExt::collect(&mut body).await.unwrap().to_bytes();
        assert_eq!(read, "firstlast");
        assert!(body.is_end_stream());
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_broken_by_comments_and_events_put_them_off() {
        let Fixture { events, ending: _ending, mut body, tasks: _tasks } = fixture();
        let start = Instant::now();
        assert_eq!(next(&mut body).await.unwrap().unwrap(), COMMENT);
        assert_eq!(start.elapsed(), HEARTBEAT);
        tokio::time::advance(Duration::from_millis(1500)).await;
        events.send(Bytes::from_static(b"event")).await.unwrap();
        assert_eq!(next(&mut body).await.unwrap().unwrap(), "event");
        let start = Instant::now();
        assert_eq!(next(&mut body).await.unwrap().unwrap(), COMMENT);
        assert_eq!(start.elapsed(), HEARTBEAT);
    }

    #[tokio::test(start_paused = true)]
    async fn dropping_it_ends_its_task() {
        let Fixture { body, tasks, .. } = fixture();
        tasks.close();
        let mut waiting = JoinSet::new();
        waiting.spawn({
            let tasks = tasks.clone();
            async move { tasks.wait().await }
        });
        assert_eq!(tasks.len(), 1);
        drop(body);
        waiting.join_next().await.unwrap().unwrap();
        assert!(tasks.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_dies_breaks_the_stream_instead_of_ending_it() {
        let Fixture { events, ending, mut body, tasks: _tasks } = fixture();
        drop((events, ending));
        assert!(next(&mut body).await.unwrap().is_err());
        assert!(next(&mut body).await.is_none());
    }
}
