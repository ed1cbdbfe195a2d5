//! [`Client`]: one HTTP/1.1 connection per request under way, kept for the next. Costs little, because the server
//! that it measures may share the machine.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::http::uri::{PathAndQuery, Scheme};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::net::{TcpStream, lookup_host};

/// A server, as its address was typed.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    host: String,
    port: u16,
    /// Put before the paths.
    prefix: String,
}

/// An address that requests cannot be sent to.
#[derive(Clone, Copy, Debug, Error)]
#[error("must be an address such as http://127.0.0.1:8080")]
pub(crate) struct InvalidTarget;

/// What requests are sent with. Cheap to clone; clones share the idle connections.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    address: SocketAddr,
    idle: Arc<Mutex<Vec<Connection>>>,
}

/// A connection, and what moves its bytes: nothing moves unless its driver is polled.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) sender: SendRequest<Full<Bytes>>,
    driver: Driver,
}

#[derive(Debug)]
pub(crate) struct Driver(Option<http1::Connection<TokioIo<TcpStream>, Full<Bytes>>>);

impl FromStr for Target {
    type Err = InvalidTarget;

    fn from_str(text: &str) -> Result<Self, InvalidTarget> {
        let uri: Uri = text.parse().map_err(|_| InvalidTarget)?;
        let plain = uri.scheme() == Some(&Scheme::HTTP) && uri.query().is_none();
        let host = uri.host().filter(|_| plain).ok_or(InvalidTarget)?;
        Ok(Self {
            host: host.to_owned(),
            port: uri.port_u16().unwrap_or(80),
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

impl Target {
    /// The value of `Host`.
    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// What a request line names for `path`.
    pub(crate) fn path(&self, path: &str) -> anyhow::Result<PathAndQuery> {
        Ok(format!("{}{path}", self.prefix).parse()?)
    }

    async fn resolve(&self) -> anyhow::Result<SocketAddr> {
        let host = self.host.trim_matches(['[', ']']);
        let found = lookup_host((host, self.port)).await;
        let mut found = found.with_context(|| format!("cannot find {host}"))?;
        found.next().with_context(|| format!("{host} has no address"))
    }
}

impl Client {
    /// Finds the server once, so that names cost no request anything.
    pub(crate) async fn new(target: &Target) -> anyhow::Result<Self> {
        Ok(Self { address: target.resolve().await?, idle: Arc::default() })
    }

    /// The connection used last among those at rest, or a new one.
    pub(crate) async fn connection(&self) -> io::Result<Connection> {
        loop {
            let Some(mut kept) = self.pop() else { return Connection::open(self.address).await };
            // The server may have closed it meanwhile.
            let Connection { sender, driver } = &mut kept;
            if driver.drive(sender.ready()).await.is_ok() {
                return Ok(kept);
            }
        }
    }

    /// Keeps a connection whose last response has been read to its end.
    pub(crate) fn keep(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }

    fn pop(&self) -> Option<Connection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

impl Connection {
    async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, driver) =
            http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        Ok(Self { sender, driver: Driver(Some(driver)) })
    }

    /// Its two halves, to be used at once.
    pub(crate) fn halves(&mut self) -> (&mut SendRequest<Full<Bytes>>, &mut Driver) {
        (&mut self.sender, &mut self.driver)
    }
}

impl Driver {
    /// Runs `work`, moving bytes as long as it needs some. When the server has closed the connection, `work` finds
    /// out by itself.
    pub(crate) async fn drive<F: Future>(&mut self, work: F) -> F::Output {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Some(driver) = &mut self.0
                && Pin::new(driver).poll(context).is_ready()
            {
                self.0 = None;
            }
            work.as_mut().poll(context)
        })
        .await
    }
}

/// A request of `body` for `path`, its headers still to be added to.
pub(crate) fn post(path: PathAndQuery, body: Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = hyper::Method::POST;
    *request.uri_mut() = Uri::from(path);
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_are_targets() {
        for bad in
            ["https://a", "a:80", "127.0.0.1:8080", "http://", "http://a/?b", "", "http://a b"]
        {
            assert!(bad.parse::<Target>().is_err(), "{bad}");
        }
        let target: Target = "http://[::1]:8080/help/".parse().unwrap();
        assert_eq!(target.authority(), "[::1]:8080");
        assert_eq!(target.path("/v1/answer").unwrap(), "/help/v1/answer");
        assert_eq!("http://a".parse::<Target>().unwrap().authority(), "a:80");
    }
}
