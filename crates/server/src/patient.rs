//! [`Patient`]: a connection that waits for its client, but not for ever.
//!
//! What it bounds is not work under a request's deadline but what comes before and after: a head that trickles in,
//! and a client that takes nothing of what it has asked for.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::activity::Activity;
use crate::connections::ConnectionLimits;

/// `stream` with limits on how long its client may keep it waiting.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    stream: S,
    activity: Arc<Activity>,
    head: Timer,
    /// The head that is being waited for, counted from 0.
    awaited: Option<u64>,
    stall: Timer,
}

/// A time limit that can be set again and again.
#[derive(Debug)]
struct Timer {
    limit: Duration,
    sleep: Pin<Box<Sleep>>,
    is_set: bool,
}

impl<S> Patient<S> {
    /// Waits for the first head from now on.
    pub(crate) fn new(stream: S, limits: ConnectionLimits, activity: Arc<Activity>) -> Self {
        let mut head = Timer::new(limits.head);
        head.set();
        Self { stream, activity, head, awaited: Some(0), stall: Timer::new(limits.stall) }
    }

    /// Something of a head, or of a body, has arrived.
    fn has_read(&mut self) {
        let next = self.activity.begun();
        if !self.activity.is_serving() && self.awaited != Some(next) {
            self.awaited = Some(next);
            self.head.set();
        }
    }

    /// Nothing has arrived; ready once a head has been waited for long enough.
    fn poll_head(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        if self.awaited != Some(self.activity.begun()) || self.activity.is_serving() {
            return Poll::Pending;
        }
        self.head.poll(context).map(|()| timed_out("the request's head took too long"))
    }

    /// Lets what was written through, and counts how long nothing could be.
    fn watch<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stall.is_set = false;
            return written;
        }
        if !self.stall.is_set {
            self.stall.set();
        }
        ready!(self.stall.poll(context));
        Poll::Ready(Err(timed_out("the client does not take its response")))
    }
}

impl Timer {
    fn new(limit: Duration) -> Self {
        Self { limit, sleep: Box::pin(sleep(limit)), is_set: false }
    }

    fn set(&mut self) {
        self.sleep.as_mut().reset(Instant::now() + self.limit);
        self.is_set = true;
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.sleep.as_mut().poll(context)
    }
}

fn timed_out(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if read.is_pending() {
            return this.poll_head(context).map(Err);
        }
        if buffer.filled().len() > before {
            this.has_read();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.watch(written, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.watch(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use deadline::Deadline;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    const LIMITS: ConnectionLimits = ConnectionLimits::STANDARD;

    fn pair(room: usize) -> (Patient<DuplexStream>, DuplexStream, Arc<Activity>) {
        let activity = Arc::new(Activity::default());
        let (ours, theirs) = duplex(room);
        (Patient::new(ours, LIMITS, Arc::clone(&activity)), theirs, activity)
    }

    async fn advance(seconds: u64) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
    }

    async fn read(patient: &mut Patient<DuplexStream>) -> io::Result<usize> {
        patient.read(&mut [0; 64]).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_trickles_in_is_given_up() {
        let (mut ours, mut theirs, _) = pair(64);
        let start = Instant::now();
        for _ in 0..3 {
            theirs.write_all(b"G").await.unwrap();
            read(&mut ours).await.unwrap();
            advance(3).await;
        }
        let given_up = read(&mut ours).await.unwrap_err();
        assert_eq!(given_up.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed(), LIMITS.head);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_being_served_and_the_pause_after_it_are_not_heads() {
        let (mut ours, mut theirs, activity) = pair(64);
        theirs.write_all(b"GET").await.unwrap();
        read(&mut ours).await.unwrap();
        let active = activity.begin();
        let hour = Deadline::after(Duration::from_secs(3600));
        assert!(hour.run(read(&mut ours)).await.is_err(), "a slow answer is no slow head");
        drop(active);
        let hour = Deadline::after(Duration::from_secs(3600));
        assert!(hour.run(read(&mut ours)).await.is_err(), "a pause is no slow head");
        // The next head has its own time.
        theirs.write_all(b"GET").await.unwrap();
        read(&mut ours).await.unwrap();
        let start = Instant::now();
        assert!(read(&mut ours).await.is_err());
        assert_eq!(start.elapsed(), LIMITS.head);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_given_up_and_one_that_takes_a_little_is_not() {
        let (mut ours, mut theirs, _) = pair(4);
        ours.write_all(b"four").await.unwrap();
        for _ in 0..5 {
            let (written, taken) = tokio::join!(ours.write_all(b"x"), async {
                sleep(LIMITS.stall - Duration::from_secs(1)).await;
                theirs.read_exact(&mut [0]).await
            });
            assert!(written.is_ok() && taken.is_ok());
        }
        let start = Instant::now();
        let given_up = ours.write_all(b"x").await.unwrap_err();
        assert_eq!(given_up.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed(), LIMITS.stall);
    }
}
