//! A far side that plays a script to whoever connects.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// What is done on a connection, once the request has been read.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends the head of a reply with a chunked body.
    Head,
    /// Sends bytes as one chunk of the body.
    Send(Vec<u8>),
    /// Ends the body in good order.
    End,
    /// Closes the connection.
    Close,
    /// Sends nothing more, until the other side goes away.
    Hang,
}

/// A peer that serves until it is dropped.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// Requests, head and body, in order.
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
    /// Resolves when a client has gone away during [`Act::Hang`].
    pub(crate) left: Option<oneshot::Receiver<()>>,
    _serving: JoinSet<()>,
}

impl Peer {
    pub(crate) async fn playing(script: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (leaving, left) = oneshot::channel();
        let mut serving = JoinSet::new();
        let seen = Arc::clone(&requests);
        serving.spawn(async move {
            let mut leaving = Some(leaving);
            while let Ok((mut socket, _)) = listener.accept().await {
                while let Some(request) = read_request(&mut socket).await {
                    seen.lock().expect("no test panics with it").push(request);
                    if play(&script, &mut socket).await.is_none() {
                        leaving.take().map(|leaving| leaving.send(()));
                        break;
                    }
                }
            }
        });
        Self { address, requests, left: Some(left), _serving: serving }
    }

    /// A peer that replies with `body`, each piece sent by itself.
    pub(crate) async fn replying(pieces: &[&[u8]]) -> Self {
        let sent = pieces.iter().map(|piece| Act::Send(piece.to_vec()));
        Self::playing([Act::Head].into_iter().chain(sent).chain([Act::End]).collect()).await
    }
}

/// `None` once the connection is of no more use.
async fn play(script: &[Act], socket: &mut TcpStream) -> Option<()> {
    for act in script {
        match act {
            Act::Head => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                            Transfer-Encoding: chunked\r\n\r\n";
                socket.write_all(head.as_bytes()).await.ok()?;
            }
            Act::Send(bytes) if bytes.is_empty() => {}
            Act::Send(bytes) => {
                let chunk = [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
                socket.write_all(&chunk).await.ok()?;
                // Mostly enough for the other side to see this piece alone.
                tokio::task::yield_now().await;
            }
            Act::End => socket.write_all(b"0\r\n\r\n").await.ok()?,
            Act::Close => return None,
            Act::Hang => {
                while socket.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {}
                return None;
            }
        }
    }
    Some(())
}

async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text.into_owned());
            }
        }
        let mut more = [0; 4096];
        let read = socket.read(&mut more).await.ok().filter(|&read| read > 0)?;
        request.extend_from_slice(more.get(..read)?);
    }
}
