//! What goes over the wire, and over how many connections.

use std::sync::Arc;

use domain::{Call, RequestName};
use upstream::BreakerMode;

use crate::peer::{Act, Peer, reply, streamed};
use crate::{BODY, KEY, call, upstream};

#[tokio::test]
async fn a_request_says_who_calls_for_what_and_nothing_of_the_deadline() {
    let peer = Peer::start(Act::Say(reply("200 OK", "{}"))).await;
    let base = peer.base.join("/v1/").unwrap();
    let upstream = upstream(&base, BreakerMode::Enforce);
    let body = upstream.post("/models/m:do?alt=sse", BODY.to_vec(), &call()).await.unwrap();
    assert_eq!(&body[..], b"{}");

    let request = peer.requests().remove(0).to_ascii_lowercase();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    // Plain HTTP/1.1: without TLS nobody has agreed to more.
    assert!(head.starts_with("post /v1/models/m:do?alt=sse http/1.1\r\n"), "{head}");
    for line in [
        "x-request-id: request-7",
        "x-attempt: 2",
        "content-type: application/json",
        &format!("authorization: bearer {KEY}"),
        &format!("user-agent: kiwari/{}", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(head.lines().any(|found| found == line), "{line} is not in {head}");
    }
    assert!(!head.contains("timeout"), "{head}");
    assert_eq!(body.as_bytes(), BODY.to_ascii_lowercase());
}

#[tokio::test]
async fn a_request_may_have_any_name() {
    let peer = Peer::start(Act::Say(reply("200 OK", "{}"))).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    let named = Call { request: RequestName::new("a\r\nb: c 質問"), ..call() };
    upstream.get("/", &named).await.unwrap();
    assert!(peer.requests()[0].contains("x-request-id: ab:c\r\n"), "{:?}", peer.requests());
}

#[tokio::test]
async fn one_connection_serves_calls_that_follow_each_other() {
    let peer = Peer::start(Act::Say(reply("200 OK", "{}"))).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    upstream.warm(&call()).await.unwrap();
    for _ in 0..3 {
        upstream.post("/", BODY.to_vec(), &call()).await.unwrap();
    }
    assert_eq!((peer.requests().len(), peer.connections()), (4, 1));
    assert_eq!(upstream.counts().calls, 3, "warming up is in no account");
}

#[tokio::test]
async fn a_stream_read_to_its_end_leaves_its_connection() {
    let peer = Peer::start(Act::Say(format!("{}0\r\n\r\n", streamed("data: {}\n\n")))).await;
    let upstream = Arc::new(upstream(&peer.base, BreakerMode::Enforce));
    for _ in 0..2 {
        let mut exchange = upstream.open("/", BODY.to_vec(), &call()).await.unwrap();
        assert_eq!(exchange.chunk().await.unwrap().unwrap(), "data: {}\n\n");
        assert_eq!(exchange.chunk().await.unwrap(), None);
        exchange.succeeded();
    }
    assert_eq!((upstream.counts().succeeded, peer.connections()), (2, 1));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Peer::start(Act::Say(reply("200 OK", "{}"))).await;
    let moved =
        format!("HTTP/1.1 307 Moved\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", elsewhere.base);
    let peer = Peer::start(Act::Say(moved)).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    let fault = upstream.post("/", BODY.to_vec(), &call()).await.unwrap_err();
    assert_eq!(crate::source(&fault).status, Some(307));
    assert_eq!(elsewhere.connections(), 0);
}
