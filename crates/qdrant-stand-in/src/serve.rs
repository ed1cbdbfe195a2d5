//! [`StandIn`]: starting, breaking off, coming back.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use qdrant_client::qdrant::collections_server::CollectionsServer;
use qdrant_client::qdrant::points_server::PointsServer;
use qdrant_client::qdrant::qdrant_server::QdrantServer;
use tokio::runtime::{Builder, Runtime};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{self, Server, ServerTlsConfig};

use crate::journal::Call;
use crate::service::{Service, State};
use crate::store::Store;
use crate::trouble::Trouble;

/// How a stand-in is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Port 0 is any that is free.
    pub bind: SocketAddr,
    /// Calls without it are refused.
    pub api_key: Option<String>,
    /// With one, it speaks TLS.
    pub identity: Option<Identity>,
}

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

/// A running stand-in, on a thread of its own. Dropping it closes its port and every connection at once.
#[derive(Debug)]
pub struct StandIn {
    address: SocketAddr,
    identity: Option<Identity>,
    state: Arc<State>,
    /// `None` while it is down.
    running: Mutex<Option<Runtime>>,
}

/// The largest request; the real server's own limit.
const LARGEST_REQUEST: usize = 32 << 20;

/// How long the thread may take to end. It has nothing to wait for.
const GRACE: Duration = Duration::from_secs(5);

impl Settings {
    /// On a free port of this machine, for anybody.
    #[must_use]
    pub fn local() -> Self {
        Self { bind: SocketAddr::from(([127, 0, 0, 1], 0)), api_key: None, identity: None }
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl StandIn {
    /// Listens and answers from now on.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on, or the identity is none.
    pub fn start(settings: Settings) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.bind)?;
        let address = listener.local_addr()?;
        let Settings { api_key, identity, .. } = settings;
        let state = Arc::new(State { api_key, ..State::default() });
        let running = serve(listener, identity.as_ref(), &Service(Arc::clone(&state)))?;
        Ok(Self { address, identity, state, running: Mutex::new(Some(running)) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://` or `https://` and the address.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.identity.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Closes the port and every connection, as a killed server does. What is stored stays.
    pub fn go_down(&self) {
        if let Some(runtime) = self.running().take() {
            // A runtime must not be waited for on a thread that runs another.
            let ending = std::thread::spawn(move || runtime.shutdown_timeout(GRACE));
            let _ended = ending.join();
        }
    }

    /// Listens again, on the same address.
    ///
    /// # Errors
    ///
    /// If somebody else has taken it.
    pub fn come_back(&self) -> io::Result<()> {
        let mut running = self.running();
        if running.is_none() {
            let listener = TcpListener::bind(self.address)?;
            let service = Service(Arc::clone(&self.state));
            *running = Some(serve(listener, self.identity.as_ref(), &service)?);
        }
        Ok(())
    }

    /// Forgets all collections, as a server does whose disk was not kept.
    pub fn forget_everything(&self) {
        *self.state.store.lock().unwrap_or_else(PoisonError::into_inner) = Store::default();
    }

    /// All calls from now on are in this trouble, or in none.
    pub fn set_trouble(&self, trouble: Option<Trouble>) {
        self.state.troubles.set(0, trouble);
    }

    /// The next `spared` calls are fine, and all after them in this trouble.
    pub fn set_trouble_after(&self, spared: u64, trouble: Trouble) {
        self.state.troubles.set(spared, Some(trouble));
    }

    /// The calls so far, those without the key left out.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.state.journal.calls()
    }

    /// Forgets the calls, and that any have stalled or been abandoned.
    pub fn clear_calls(&self) {
        self.state.journal.clear();
    }

    /// Waits until a call has got stuck.
    pub async fn until_stalled(&self) {
        self.state.journal.until_stalled().await;
    }

    /// Waits until a caller has given a call up.
    pub async fn until_abandoned(&self) {
        self.state.journal.until_abandoned().await;
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Runtime>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if let Some(runtime) = self.running().take() {
            runtime.shutdown_background();
        }
    }
}

/// A runtime of its own: its end is the end of every connection.
fn serve(
    listener: TcpListener,
    identity: Option<&Identity>,
    service: &Service,
) -> io::Result<Runtime> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("qdrant-stand-in")
        .enable_all()
        .build()?;
    listener.set_nonblocking(true)?;
    let listener = {
        let _within = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let points = PointsServer::new(service.clone()).max_decoding_message_size(LARGEST_REQUEST);
    let server = server(identity)
        .map_err(io::Error::other)?
        .add_service(points)
        .add_service(CollectionsServer::new(service.clone()))
        .add_service(QdrantServer::new(service.clone()));
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    // Ends with the runtime; there is nobody to tell how.
    drop(runtime.spawn(server.serve_with_incoming(incoming)));
    Ok(runtime)
}

fn server(identity: Option<&Identity>) -> Result<Server, transport::Error> {
    match identity {
        None => Ok(Server::builder()),
        Some(Identity { certificate, key }) => {
            let identity = transport::Identity::from_pem(certificate, key);
            Server::builder().tls_config(ServerTlsConfig::new().identity(identity))
        }
    }
}
