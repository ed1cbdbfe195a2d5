//! A far side that does as it is told, to the byte, and remembers what it saw.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use upstream::Url;

/// What it does once it has a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Writes this and waits for the next request.
    Say(String),
    /// Writes this, and then nothing more.
    SayAndHang(String),
    /// Writes this and resets the connection.
    SayAndReset(String),
    /// Replies with status 400 and the request.
    Echo,
}

/// It listens for as long as it lives.
pub(crate) struct Peer {
    pub(crate) base: Url,
    seen: Arc<Seen>,
    _listening: JoinSet<()>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: Mutex<Vec<String>>,
    asked: Gate,
    closed: Gate,
}

/// Lets waiters through as often as it was opened.
struct Gate(Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl Gate {
    fn open(&self) {
        self.0.add_permits(1);
    }

    async fn pass(&self) {
        self.0.acquire().await.expect("it is never closed").forget();
    }
}

impl Peer {
    /// Does `act` for every request.
    pub(crate) async fn start(act: Act) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let seen = Arc::new(Seen::default());
        let mut listening = JoinSet::new();
        listening.spawn(listen(listener, act, Arc::clone(&seen)));
        let base = format!("http://{address}").parse().expect("an address makes a URL");
        Self { base, seen, _listening: listening }
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Heads and bodies as they came.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().expect("no test panics within").clone()
    }

    /// Returns when a request has come, once for each.
    pub(crate) async fn was_asked(&self) {
        self.seen.asked.pass().await;
    }

    /// Returns when a connection was closed by the caller, once for each.
    pub(crate) async fn was_left(&self) {
        self.seen.closed.pass().await;
    }
}

async fn listen(listener: TcpListener, act: Act, seen: Arc<Seen>) {
    let mut talking = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        seen.connections.fetch_add(1, Ordering::SeqCst);
        talking.spawn(talk(stream, act.clone(), Arc::clone(&seen)));
    }
}

async fn talk(mut stream: TcpStream, act: Act, seen: Arc<Seen>) {
    while let Some(request) = read_request(&mut stream).await {
        seen.requests.lock().expect("no test panics within").push(request.clone());
        seen.asked.open();
        let reply = match &act {
            Act::Say(text) | Act::SayAndHang(text) | Act::SayAndReset(text) => text.clone(),
            Act::Echo => reply("400 Bad Request", &request),
        };
        if stream.write_all(reply.as_bytes()).await.is_err() {
            break;
        }
        match &act {
            Act::Say(_) | Act::Echo => {}
            Act::SayAndHang(_) => until_closed(&mut stream).await,
            Act::SayAndReset(_) => return reset(stream),
        }
    }
    seen.closed.open();
}

/// A whole request; `None` if the caller has closed.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && body.len() >= content_length(head)
        {
            return Some(text);
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => read.extend_from_slice(&piece[..count]),
        }
    }
}

fn content_length(head: &str) -> usize {
    let lower = head.to_ascii_lowercase();
    let value = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

async fn until_closed(stream: &mut TcpStream) {
    let mut piece = [0; 64];
    while matches!(stream.read(&mut piece).await, Ok(count) if count > 0) {}
}

/// Ends it with a reset rather than an orderly close.
fn reset(stream: TcpStream) {
    stream.set_zero_linger().expect("the socket is open");
    drop(stream);
}

/// A whole HTTP reply.
pub(crate) fn reply(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// The beginning of a chunked reply.
pub(crate) fn streamed(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n", body.len())
}
