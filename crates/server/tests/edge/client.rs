//! A client without manners.

use std::net::SocketAddr;

use deadline::Deadline;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::PATIENCE;

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    read: String,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self {
            stream: TcpStream::connect(address).await.expect("the server listens"),
            read: String::new(),
        }
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.expect("the server reads");
    }

    /// Asks in HTTP/1.0, so that the body comes without chunks and ends with the connection.
    pub(crate) async fn ask(&mut self, body: &Value) {
        let body = body.to_string();
        let head = format!(
            "POST /v1/answer HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.send(&(head + &body)).await;
    }

    /// Reads until `text` has come; everything up to and with it is returned.
    pub(crate) async fn read_to(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.read.find(text) {
                let rest = self.read.split_off(at + text.len());
                return std::mem::replace(&mut self.read, rest);
            }
            assert!(self.read_some().await, "no {text:?} in {:?}", self.read);
        }
    }

    /// Reads until the server closes.
    pub(crate) async fn read_all(&mut self) -> String {
        while self.read_some().await {}
        std::mem::take(&mut self.read)
    }

    /// Whether there was anything more.
    async fn read_some(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let read = Deadline::after(PATIENCE).run(self.stream.read(&mut buffer)).await;
        // A connection that is reset is closed, too.
        let count = read.expect("the server goes on").unwrap_or(0);
        self.read.push_str(std::str::from_utf8(&buffer[..count]).expect("text"));
        count > 0
    }
}
