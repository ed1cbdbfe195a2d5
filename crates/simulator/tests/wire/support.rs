//! A client that sees everything: HTTP/1.1 by hand, over a bare socket.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use deadline::Deadline;
use serde_json::{Value, json};
use simulator::{Entry, Simulator};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As its framing says.
    Whole,
    /// The connection was closed before.
    Closed,
    /// The connection was reset.
    Reset,
    /// Nothing more came within the time a test waits.
    Silent,
}

/// A reply, as far as it came.
#[derive(Debug)]
pub(crate) struct Reply {
    /// 0 if not even a head came.
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    pub(crate) end: End,
}

/// Longer than anything that is not a hang takes.
const SILENCE: Duration = Duration::from_millis(600);

impl Reply {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body in UTF-8")
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The JSON of every event of a stream.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.text().lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]")
            .map(|data| serde_json::from_str(data).unwrap_or_else(|_| panic!("{data}")))
            .collect()
    }
}

/// A request by hand.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: simulator\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Sends `request` and reads until the reply ends or falls silent.
pub(crate) async fn exchange(address: SocketAddr, request: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(address).await.expect("somebody listens");
    stream.write_all(request).await.expect("the request is taken");
    let mut bytes = Vec::new();
    let end = loop {
        if is_whole(&bytes) {
            break End::Whole;
        }
        let patience = if bytes.is_empty() { SILENCE * 3 } else { SILENCE };
        match Deadline::after(patience).run(stream.read_buf(&mut bytes)).await {
            Err(_) => break End::Silent,
            Ok(Err(_)) => break End::Reset,
            Ok(Ok(0)) => break End::Closed,
            Ok(Ok(_)) => {}
        }
    };
    parse(&bytes, end)
}

pub(crate) async fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Reply {
    exchange(address, &request("GET", path, headers, b"")).await
}

pub(crate) async fn post(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Reply {
    exchange(address, &request("POST", path, headers, body.to_string().as_bytes())).await
}

pub(crate) const KEY: (&str, &str) = ("x-goog-api-key", "test");
pub(crate) const BEARER: (&str, &str) = ("authorization", "Bearer test");
pub(crate) const MODEL: &str = "/v1beta/models/gemini-3.5-flash-lite";

/// A prompt with two passages.
pub(crate) const USER: &str = "Answer in at most 80 words.\n\
    <passage n=\"1\" title=\"Plans > Billing\">\nPlans renew every month. You can cancel a plan in Billing.\n</passage>\n\
    <passage n=\"2\" title=\"Badges\">\nBadges show roles. To reset a badge, open Settings and choose Reset. A reset takes a minute.\n\
    </passage>\n<question>\nHow do I reset my badge?\n</question>";
pub(crate) const SYSTEM: &str =
    "If the passages do not answer, reply with exactly: NO_ANSWER_IN_PASSAGES";

/// A body of `generateContent`.
pub(crate) fn prompt(user: &str) -> Value {
    json!({
        "systemInstruction": { "parts": [{ "text": SYSTEM }] },
        "contents": [{ "role": "user", "parts": [{ "text": user }] }],
    })
}

/// A body of `chat/completions`.
pub(crate) fn chat(user: &str) -> Value {
    json!({
        "model": "m",
        "messages": [{ "role": "system", "content": SYSTEM }, { "role": "user", "content": user }],
    })
}

/// The journal once nothing is under way, or nothing more changes.
pub(crate) async fn settled(simulator: &Simulator) -> Vec<Entry> {
    for _ in 0..200 {
        if simulator.summary().open == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    simulator.journal()
}

fn is_whole(bytes: &[u8]) -> bool {
    let Some((head, body)) = split_head(bytes) else { return false };
    let headers = headers(head);
    match headers.get("content-length").and_then(|length| length.parse::<usize>().ok()) {
        Some(length) => body.len() >= length,
        None if headers.contains_key("transfer-encoding") => unchunked(body).1,
        None => false,
    }
}

fn parse(bytes: &[u8], end: End) -> Reply {
    let Some((head, body)) = split_head(bytes) else {
        return Reply { status: 0, headers: BTreeMap::new(), body: Vec::new(), end };
    };
    let headers = headers(head);
    let chunked = headers.contains_key("transfer-encoding");
    let body = if chunked { unchunked(body).0 } else { body.to_vec() };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Reply { status, headers, body, end }
}

fn split_head(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let at = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    Some((std::str::from_utf8(&bytes[..at]).ok()?, &bytes[at + 4..]))
}

fn headers(head: &str) -> BTreeMap<String, String> {
    let lines = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    lines.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect()
}

/// What the chunks hold, and whether the last one has come.
fn unchunked(mut bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(at) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..at]).ok();
        let Some(size) = size.and_then(|size| usize::from_str_radix(size, 16).ok()) else { break };
        let data = &bytes[at + 2..];
        if size == 0 {
            return (body, data.starts_with(b"\r\n"));
        }
        let end = size.min(data.len());
        body.extend_from_slice(&data[..end]);
        let Some(rest) = data.get(size + 2..) else { break };
        bytes = rest;
    }
    (body, false)
}
