//! Listening, and leaving without dropping anybody.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use deadline::Deadline;
use pipeline::Wants;
use thiserror::Error;
use tokio::net::TcpListener;

use crate::router::router;
use crate::service::Service;

/// A server that cannot start or go on.
#[derive(Debug, Error)]
pub enum ServeError {
    #[error(
        "{address} can be reached from other machines; set server.public = true if that is meant"
    )]
    NotLoopback { address: SocketAddr },
    #[error("cannot listen on {address}")]
    Bind { address: SocketAddr, source: io::Error },
    #[error("the server stopped")]
    Serve(#[source] io::Error),
}

/// How much longer than its longest budget a request may take to leave.
const GRACE: Duration = Duration::from_millis(500);

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

/// Answers on `listener` until `stop` is ready; then takes no new connections and lets requests finish
/// within their deadlines.
///
/// # Errors
///
/// [`ServeError::Serve`] if the listener breaks.
pub async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let longest =
        service.longest_budget(Wants::Answer).max(service.longest_budget(Wants::Passages));
    let patience = longest + GRACE;
    let stopping = tokio_util::sync::CancellationToken::new();
    let announced = stopping.clone();
    let draining = Arc::clone(&service);
    let signal = async move {
        stop.await;
        draining.start_draining();
        announced.cancel();
    };
    let serving = axum::serve(listener, router(service)).with_graceful_shutdown(signal);
    let give_up = async {
        stopping.cancelled().await;
        // Connections that idle or stall are not waited for any longer than a request may last.
        let patience = Deadline::after(patience).run(std::future::pending::<()>());
        let _elapsed = patience.await;
    };
    tokio::select! {
        ended = serving.into_future() => ended.map_err(ServeError::Serve),
        () = give_up => Ok(()),
    }
}
