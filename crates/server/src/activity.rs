//! [`Activity`]: whether a connection is being served or waits for its client's next request.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};

/// The requests of one connection: those whose head has been read, and those of them whose response has been sent.
///
/// Only the connection's own task looks and counts, so that the order of memory does not matter.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    begun: AtomicU64,
    ended: AtomicU64,
}

/// One request being served; dropped when its response has been sent or nobody wants it any more.
#[derive(Debug)]
pub(crate) struct Active(Arc<Activity>);

impl Activity {
    pub(crate) fn begin(self: &Arc<Self>) -> Active {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Active(Arc::clone(self))
    }

    /// How many requests there have been.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    pub(crate) fn is_serving(&self) -> bool {
        self.begun() > self.ended.load(Ordering::Relaxed)
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// A body during whose sending its request is active.
#[derive(Debug)]
pub(crate) struct HeldBody {
    body: Body,
    _active: Active,
}

impl HeldBody {
    pub(crate) fn new(body: Body, active: Active) -> Self {
        Self { body, _active: active }
    }
}

impl http_body::Body for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
