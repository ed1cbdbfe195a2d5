//! A connection that can be reset instead of closed.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What a connection and the replies on it share.
#[derive(Debug, Default)]
pub(crate) struct Line {
    reset: AtomicBool,
}

impl Line {
    /// When the connection is dropped, the other side is to see a reset.
    pub(crate) fn reset_when_dropped(&self) {
        self.reset.store(true, Ordering::Relaxed);
    }
}

/// A TCP connection whose end its [`Line`] decides.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    line: Arc<Line>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, line: Arc<Line>) -> Self {
        // Without it, chunks wait for the other side's acknowledgements. Where it fails, so will the rest.
        let _slower_without = stream.set_nodelay(true);
        Self { stream, line }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.line.reset.load(Ordering::Relaxed) {
            // A connection that is gone already needs no reset.
            let _gone = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.line.reset.load(Ordering::Relaxed) {
            // A shutdown would say goodbye first.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
