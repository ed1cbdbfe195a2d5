//! A way to Postgres that can be made bad.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How the way is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Open,
    /// Connections are closed as soon as they are made.
    Refusing,
    /// After so many bytes to the server, a connection breaks.
    BreaksAfterSending(usize),
    /// After so many bytes from the server, a connection breaks: what it had done is not heard of.
    BreaksAfterHearing(usize),
    /// After so many bytes to the server, nothing more passes and nothing is closed.
    StallsAfterSending(usize),
}

#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    way: watch::Sender<Way>,
    broken: Arc<AtomicUsize>,
    // Ends with the proxy.
    _accepting: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let (way, seen) = watch::channel(Way::Open);
        let broken = Arc::new(AtomicUsize::new(0));
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, server, seen, Arc::clone(&broken)));
        Self { port, way, broken, _accepting: accepting }
    }

    /// Makes the way so; connections that are open are closed.
    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }

    /// How many connections broke or stalled on their way.
    pub(crate) fn broken(&self) -> usize {
        self.broken.load(Ordering::Relaxed)
    }
}

async fn accept(
    listener: TcpListener,
    server: String,
    seen: watch::Receiver<Way>,
    broken: Arc<AtomicUsize>,
) {
    let mut open = JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else { return };
        open.spawn(carry(client, server.clone(), seen.clone(), Arc::clone(&broken)));
    }
}

async fn carry(
    client: TcpStream,
    server: String,
    mut seen: watch::Receiver<Way>,
    broken: Arc<AtomicUsize>,
) {
    let way = *seen.borrow_and_update();
    if way == Way::Refusing {
        return;
    }
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (sends, hears) = match way {
        Way::BreaksAfterSending(bytes) => (Some((bytes, false)), None),
        Way::StallsAfterSending(bytes) => (Some((bytes, true)), None),
        Way::BreaksAfterHearing(bytes) => (None, Some((bytes, false))),
        Way::Open | Way::Refusing => (None, None),
    };
    tokio::select! {
        _ = pass(from_client, to_server, sends, &broken) => {}
        _ = pass(from_server, to_client, hears, &broken) => {}
        _ = seen.changed() => {}
    }
}

/// Passes bytes on; after `limit` of them it ends or, if so told, stays without doing anything.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut limit: Option<(usize, bool)>,
    broken: &AtomicUsize,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        let passed = limit.map_or(read, |(left, _)| left.min(read));
        to.write_all(&buffer[..passed]).await?;
        let Some((left, stalls)) = &mut limit else { continue };
        *left -= passed;
        if passed < read {
            broken.fetch_add(1, Ordering::Relaxed);
            if *stalls {
                std::future::pending::<()>().await;
            }
            return Ok(());
        }
    }
}
