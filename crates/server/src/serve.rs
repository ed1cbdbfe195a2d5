//! Listening, and leaving without dropping anybody.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use deadline::Deadline;
use domain::Causes;
use pipeline::Wants;
use thiserror::Error;
use tokio::net::TcpListener;

use crate::connections::Connections;
use crate::router::router;
use crate::service::Service;

/// A server that cannot start.
#[derive(Debug, Error)]
pub enum ServeError {
    #[error(
        "{address} can be reached from other machines; set server.public = true if that is meant"
    )]
    NotLoopback { address: SocketAddr },
    #[error("cannot listen on {address}")]
    Bind { address: SocketAddr, source: io::Error },
}

/// How much longer than its longest budget a request may take to leave.
const GRACE: Duration = Duration::from_millis(500);
/// Between two tries to take a connection while none can be taken.
const PAUSE: Duration = Duration::from_millis(500);

/// Listens on `address`; on anything but loopback only if `public`.
///
/// # Errors
///
/// [`ServeError::NotLoopback`] or [`ServeError::Bind`], naming the address.
pub async fn bind(address: SocketAddr, public: bool) -> Result<TcpListener, ServeError> {
    if !public && !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback { address });
    }
    TcpListener::bind(address).await.map_err(|source| ServeError::Bind { address, source })
}

/// Answers on `listener` until `stop` is ready; then takes no new connections and lets requests finish within their
/// deadlines. Nothing that it started is left behind.
pub async fn serve(listener: TcpListener, service: Arc<Service>, stop: impl Future<Output = ()>) {
    let mut stop = pin!(stop);
    let limits = service.settings.connections;
    let mut connections = Connections::new(router(Arc::clone(&service)), limits);
    loop {
        tokio::select! {
            () = stop.as_mut() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => connections.take(stream),
                Err(error) => pause_after(&error).await,
            },
            () = connections.forget_ended() => {}
        }
    }
    drop(listener);
    service.start_draining();
    let patience = Deadline::after(longest_budget(&service) + GRACE);
    // Connections that idle or stall are not waited for any longer than a request may last.
    let _drained = connections.drain(patience).await;
    service.tasks.close();
    let _ended = patience.run(service.tasks.wait()).await;
}

fn longest_budget(service: &Service) -> Duration {
    service.longest_budget(Wants::Answer).max(service.longest_budget(Wants::Passages))
}

/// A client that left before it was served is none of our business; but with no file descriptors left, the next try
/// would fail as fast.
async fn pause_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        return;
    }
    tracing::error!(error = %Causes(error), "cannot take a connection");
    tokio::time::sleep(PAUSE).await;
}
