//! [`Http`]: the process's one pool of connections.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, NoProxy, Proxy, Url};
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;

/// How connections are made and kept.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// How long making a connection may take, whatever the call's deadline: an attempt that its call no
    /// longer waits for ends by then. 5 s, which forgives two lost packets.
    pub connect_timeout: Duration,
    /// How long a connection is kept with nothing to do. 60 s: shorter than the far sides known to us keep
    /// theirs, so that it is us who closes, and no call meets a connection that is just being closed.
    pub pool_idle: Duration,
    /// Whether HTTP/2 is offered in the TLS handshake. Without TLS it is HTTP/1.1 always.
    pub http2: bool,
    /// The proxy that `https://` upstreams are called through (what `HTTPS_PROXY` usually says). Plain
    /// `http://` ones, such as a model server on this machine, are called directly.
    pub https_proxy: Option<Url>,
    /// Hosts that the proxy is not used for, as `NO_PROXY` lists them.
    pub no_proxy: Option<String>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            pool_idle: Duration::from_secs(60),
            http2: true,
            https_proxy: None,
            no_proxy: None,
        }
    }
}

/// How often an HTTP/2 connection with calls under way is asked whether it still lives, and for how long. A
/// dead one would otherwise take every call that is put on it.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_LIMIT: Duration = Duration::from_secs(5);

/// The process's one pool of connections. Cheap to clone; clones share it.
#[derive(Clone, Debug)]
pub struct Http(Client);

/// No client could be made of the settings.
#[derive(Debug, Error)]
pub enum HttpError {
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
    #[error("the proxy's address is not usable")]
    Proxy(#[source] reqwest::Error),
    #[error("the HTTP client cannot be made")]
    Client(#[source] reqwest::Error),
}

impl Http {
    /// A pool with no connections yet. It follows no redirects (a key must not travel) and repeats nothing.
    ///
    /// # Errors
    ///
    /// [`HttpError`], if the settings cannot work.
    pub fn new(settings: &HttpSettings) -> Result<Self, HttpError> {
        let builder = Client::builder()
            .tls_backend_preconfigured(tls(settings.http2)?)
            .user_agent(concat!("kiwari/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(settings.connect_timeout)
            .pool_idle_timeout(settings.pool_idle)
            .http2_keep_alive_interval(PING_EVERY)
            .http2_keep_alive_timeout(PING_LIMIT)
            .no_proxy();
        let builder = match &settings.https_proxy {
            Some(address) => builder.proxy(proxy(address.clone(), settings.no_proxy.as_deref())?),
            None => builder,
        };
        builder.build().map(Self).map_err(HttpError::Client)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.0
    }
}

fn proxy(address: Url, except: Option<&str>) -> Result<Proxy, HttpError> {
    let proxy = Proxy::https(address).map_err(HttpError::Proxy)?;
    Ok(proxy.no_proxy(except.and_then(NoProxy::from_string)))
}

/// The machine's roots. Where it has none, calls over TLS fail and say so; those without are unaffected.
fn tls(http2: bool) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    let (added, _unusable) =
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if added == 0 {
        tracing::warn!("this machine has no root certificates; calls over TLS will fail");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = if http2 { vec![b"h2".to_vec()] } else { Vec::new() };
    config.alpn_protocols.push(b"http/1.1".to_vec());
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http2_is_offered_unless_it_is_off() {
        assert_eq!(tls(true).unwrap().alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
        assert_eq!(tls(false).unwrap().alpn_protocols, [b"http/1.1".to_vec()]);
    }
}
