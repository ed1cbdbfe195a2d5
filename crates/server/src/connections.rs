//! [`Connections`]: those that are open, how many there may be, and how they end.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use deadline::{Deadline, OutOfTime};
use domain::Causes;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::activity::{Activity, HeldBody};
use crate::patient::Patient;

/// What clients are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections at once; each takes a file descriptor and some 20 KB. What is beyond is told to come back.
    pub most: usize,
    /// How long a request's head may take, from the opening or from its first byte.
    pub head: Duration,
    /// How long a connection is kept without a request. Longer than the minute after which many load balancers close
    /// theirs: whoever closes first must not be us, or a request on its way is lost.
    pub idle: Duration,
    /// How long a client may take nothing of a response that it is being sent.
    pub stall: Duration,
}

impl ConnectionLimits {
    /// For a server that anybody may talk to.
    pub const STANDARD: Self = Self {
        most: 10_000,
        head: Duration::from_secs(10),
        idle: Duration::from_secs(75),
        stall: Duration::from_secs(10),
    };
}

/// The most of a request's head that is looked at, and the least at which a response waits for its client.
const BUFFER: usize = 64 * 1024;

/// All that needs to be said to one connection too many.
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/problem+json\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 144\r\n\r\n\
    {\"type\":\"urn:kiwari:problem:overloaded\",\"title\":\"Service Unavailable\",\"status\":503,\
    \"code\":\"overloaded\",\"detail\":\"too many connections are open\"}";

/// The connections of one server. Dropping it closes them all.
#[derive(Debug)]
pub(crate) struct Connections {
    router: TowerToHyperService<Router>,
    limits: ConnectionLimits,
    permits: Arc<Semaphore>,
    open: JoinSet<()>,
    draining: CancellationToken,
}

impl Connections {
    pub(crate) fn new(router: Router, limits: ConnectionLimits) -> Self {
        Self {
            router: TowerToHyperService::new(router),
            limits,
            permits: Arc::new(Semaphore::new(limits.most)),
            open: JoinSet::new(),
            draining: CancellationToken::new(),
        }
    }

    /// Serves `stream`, or says at once that it is one too many.
    pub(crate) fn take(&mut self, stream: TcpStream) {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            // A client that does not even take this much has closed already.
            let _unheard = stream.try_write(TOO_MANY);
            return;
        };
        // Without it, small writes may wait for the client's acknowledgement of earlier ones.
        let _still_works = stream.set_nodelay(true);
        self.open.spawn(serve(
            stream,
            self.router.clone(),
            self.limits,
            self.draining.clone(),
            permit,
        ));
    }

    /// Forgets one that has ended; never ready without any.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub(crate) async fn forget_ended(&mut self) {
        match self.open.join_next().await {
            None => std::future::pending().await,
            Some(Ok(())) => {}
            Some(Err(error)) => tracing::error!(error = %error, "a connection's task panicked"),
        }
    }

    /// Lets every connection finish its request, until `patience` ends; then closes the rest.
    pub(crate) async fn drain(mut self, patience: Deadline) -> Result<(), OutOfTime> {
        self.draining.cancel();
        patience.run(async { while self.open.join_next().await.is_some() {} }).await
    }
}

/// Serves one connection to its end.
async fn serve(
    stream: TcpStream,
    router: TowerToHyperService<Router>,
    limits: ConnectionLimits,
    draining: CancellationToken,
    _permit: OwnedSemaphorePermit,
) {
    let activity = Arc::new(Activity::default());
    let stream = Patient::new(stream, limits, Arc::clone(&activity));
    let service = service_fn(move |request| {
        let active = activity.begin();
        let answering = router.call(request);
        async move { answering.await.map(|response| response.map(|body| HeldBody::new(body, active))) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    let mut serving = pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = draining.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        // Clients do leave; it is no news.
        tracing::debug!(error = %Causes(&error), "a connection broke");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_is_as_long_as_it_says() {
        let text = std::str::from_utf8(TOO_MANY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        assert_eq!(length, Some(body.len().to_string().as_str()));
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(problem["code"], "overloaded");
    }
}
