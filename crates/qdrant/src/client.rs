//! [`Qdrant`]: the connection, and the one way to call over it.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use deadline::Deadline;
use domain::Call;
use qdrant_client::qdrant::collections_client::CollectionsClient;
use qdrant_client::qdrant::points_client::PointsClient;
use qdrant_client::qdrant::qdrant_client::QdrantClient;
use qdrant_client::qdrant::{HealthCheckRequest, ListCollectionsRequest};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Uri};
use tonic::{Request, Response, Status};

use crate::error::Said;
use crate::{InvalidSettings, Prefix, QdrantError, QdrantSettings};

/// One server, connected to when it is first called and whenever it has come back. Cheap to clone; clones
/// share the connection.
#[derive(Clone)]
pub struct Qdrant {
    uri: Uri,
    wire: Wire,
    prefix: Prefix,
    vectors_on_disk: bool,
}

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub version: String,
}

/// A channel whose calls carry the key.
pub(crate) type Wire = InterceptedService<Channel, KeyHeader>;

/// Adds the key to a call, if there is one.
#[derive(Clone)]
pub(crate) struct KeyHeader(Option<MetadataValue<Ascii>>);

/// How long a connection may take to be made. Requests do not wait that long; the next one finds it made.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);

/// How often a connection is asked whether it still lives, idle or not, and how long the answer may take. One
/// that died in silence would otherwise take every call until the kernel gives up, a quarter of an hour.
const PING: Ping = Ping { every: Duration::from_secs(10), limit: Duration::from_secs(5) };

/// A page of points with vectors of three thousand dimensions is some 4 MB; the usual limit is that.
const LARGEST_REPLY: usize = 64 << 20;

#[derive(Clone, Copy)]
struct Ping {
    every: Duration,
    limit: Duration,
}

impl Qdrant {
    /// The server that `settings` name, which need not be there yet. Wants a tokio runtime around it.
    ///
    /// # Errors
    ///
    /// [`InvalidSettings`], if no server could ever be reached with them.
    pub fn new(settings: &QdrantSettings) -> Result<Self, InvalidSettings> {
        Self::pinging(settings, PING)
    }

    fn pinging(settings: &QdrantSettings, ping: Ping) -> Result<Self, InvalidSettings> {
        let uri = settings.uri()?;
        let key = settings.api_key.as_ref().map(|key| key.header()).transpose()?;
        let endpoint = Endpoint::from(uri.clone())
            .connect_timeout(CONNECT_LIMIT)
            .http2_keep_alive_interval(ping.every)
            .keep_alive_timeout(ping.limit)
            .keep_alive_while_idle(true);
        let endpoint = match uri.scheme_str() {
            Some("https") => endpoint.tls_config(tls(settings)).map_err(InvalidSettings::Tls)?,
            _ => endpoint,
        };
        Ok(Self {
            uri,
            wire: InterceptedService::new(endpoint.connect_lazy(), KeyHeader(key)),
            prefix: settings.prefix.clone(),
            vectors_on_disk: settings.vectors_on_disk,
        })
    }

    /// The same server, of which only the collections of the catalog `owner` are seen and written.
    #[must_use]
    pub fn of(&self, owner: u32) -> Self {
        Self { prefix: self.prefix.of(owner), ..self.clone() }
    }

    /// Where it is called.
    #[must_use]
    pub fn url(&self) -> String {
        self.uri.to_string()
    }

    /// Whether it answers, and its version. Also makes the connection before somebody waits for it.
    ///
    /// # Errors
    ///
    /// [`QdrantError::OutOfTime`] or [`QdrantError::Refused`].
    pub async fn health(&self, call: &Call) -> Result<Health, QdrantError> {
        let mut client = QdrantClient::new(self.wire.clone());
        let reply = client.health_check(HealthCheckRequest {});
        let reply = ask("say how it is", call.deadline, reply).await?;
        Ok(Health { version: reply.version })
    }

    /// Whether it lets us in: it says how it is to everybody.
    ///
    /// # Errors
    ///
    /// [`QdrantError`]; without the right key one that [`is_not_allowed`](QdrantError::is_not_allowed).
    pub async fn check_key(&self, call: &Call) -> Result<(), QdrantError> {
        let mut client = self.collections();
        let reply = client.list(ListCollectionsRequest {});
        ask("list its collections", call.deadline, reply).await.map(drop)
    }

    pub(crate) fn points(&self) -> PointsClient<Wire> {
        PointsClient::new(self.wire.clone()).max_decoding_message_size(LARGEST_REPLY)
    }

    pub(crate) fn collections(&self) -> CollectionsClient<Wire> {
        CollectionsClient::new(self.wire.clone())
    }

    pub(crate) fn prefix(&self) -> &Prefix {
        &self.prefix
    }

    pub(crate) fn vectors_on_disk(&self) -> bool {
        self.vectors_on_disk
    }
}

impl fmt::Debug for Qdrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Qdrant").field("uri", &self.uri).field("prefix", &self.prefix).finish()
    }
}

impl Interceptor for KeyHeader {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert("api-key", key.clone());
        }
        Ok(request)
    }
}

fn tls(settings: &QdrantSettings) -> ClientTlsConfig {
    match &settings.ca_pem {
        Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
        None => ClientTlsConfig::new().with_native_roots(),
    }
}

/// One call, made once and over by `deadline`. Dropped, it is abandoned, and the server told so.
pub(crate) fn ask<T>(
    doing: &'static str,
    deadline: Deadline,
    call: impl Future<Output = Result<Response<T>, Status>>,
) -> impl Future<Output = Result<T, QdrantError>> {
    // A request under way is some 20 kB, too much for the stacks of whoever waits for it.
    let call = Box::pin(call);
    async move {
        let reply = deadline.run(call).await;
        let reply = reply.map_err(|source| QdrantError::OutOfTime { doing, source })?;
        let refused = |status| QdrantError::Refused { doing, source: Said::new(status) };
        let reply = reply.map_err(refused)?;
        Ok(reply.into_inner())
    }
}

/// When the server may drop a call that must be over by `deadline`. It counts in whole seconds, so this is the
/// ceiling; the deadline itself is kept on this side.
pub(crate) fn server_limit(deadline: Deadline) -> u64 {
    let remaining = deadline.remaining();
    (remaining.as_secs() + u64::from(remaining.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_is_told_whole_seconds_and_never_none() {
        for (ms, seconds) in [(0, 1), (1, 1), (999, 1), (1000, 1), (1001, 2), (600_000, 600)] {
            let limit = server_limit(Deadline::after(Duration::from_millis(ms)));
            assert_eq!(limit, seconds, "{ms} ms");
        }
    }

    /// Takes two connections and never says a word on either; returns when the second is there.
    async fn silent_peer(listener: TcpListener) {
        let (mut first, _) = listener.accept().await.unwrap();
        let mut heard = Vec::new();
        // Ends when the other side has given the connection up.
        let _ended = first.read_to_end(&mut heard).await;
        listener.accept().await.unwrap();
    }

    #[tokio::test]
    async fn a_connection_that_died_in_silence_is_given_up_and_made_anew() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let settings = QdrantSettings::at(&format!("http://{}", listener.local_addr().unwrap()));
        let quick = Duration::from_millis(20);
        let qdrant = Qdrant::pinging(&settings, Ping { every: quick, limit: quick }).unwrap();
        let call = Call::background("test", Deadline::after(Duration::from_secs(30)));
        let asking = async {
            // The dead connection takes one call with it; the next goes to a new one.
            let error = qdrant.health(&call).await.unwrap_err();
            assert!(error.passes_after().is_some(), "{error:?}");
            let _dead_as_well = qdrant.health(&call).await;
        };
        tokio::join!(silent_peer(listener), asking);
    }
}
