//! What is dropped here ends there.

use domain::FaultKind;
use upstream::BreakerMode;

use crate::peer::{Act, Peer, streamed};
use crate::{BODY, call, call_of_ms, upstream};

#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    let peer = Peer::start(Act::SayAndHang(String::new())).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    let (first, second) = (call(), call());
    tokio::select! {
        _ = upstream.post("/", BODY.to_vec(), &first) => panic!("nobody replies"),
        _ = upstream.open("/", BODY.to_vec(), &second) => panic!("nobody replies"),
        () = async { peer.was_asked().await; peer.was_asked().await; } => {}
    }
    peer.was_left().await;
    peer.was_left().await;
    assert_eq!(upstream.counts().abandoned, 2);
}

#[tokio::test]
async fn dropping_a_stream_closes_its_connection() {
    let peer = Peer::start(Act::SayAndHang(streamed("data: half\n\n"))).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    let mut exchange = upstream.open("/", BODY.to_vec(), &call()).await.unwrap();
    assert_eq!(exchange.chunk().await.unwrap().unwrap(), "data: half\n\n");
    drop(exchange);
    peer.was_left().await;
    let counts = upstream.counts();
    assert_eq!((counts.calls, counts.abandoned, counts.succeeded), (1, 1, 0));
}

#[tokio::test]
async fn a_stream_that_runs_out_of_time_is_closed_though_it_is_still_held() {
    let peer = Peer::start(Act::SayAndHang(streamed("data: half\n\n"))).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    let mut exchange = upstream.open("/", BODY.to_vec(), &call_of_ms(2000)).await.unwrap();
    assert!(exchange.chunk().await.unwrap().is_some());
    assert_eq!(exchange.chunk().await.unwrap_err().kind(), FaultKind::Timeout);
    peer.was_left().await;
    assert_eq!(exchange.chunk().await.unwrap(), None);
    exchange.succeeded();
    let counts = upstream.counts();
    assert_eq!((counts.failed(FaultKind::Timeout), counts.succeeded), (1, 0), "one end each");
}

#[tokio::test]
async fn waiting_for_a_chunk_may_be_given_up_and_taken_up_again() {
    let peer = Peer::start(Act::Say(streamed("one") + "3\r\ntwo\r\n0\r\n\r\n")).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    let mut exchange = upstream.open("/", BODY.to_vec(), &call()).await.unwrap();
    let mut read = Vec::new();
    loop {
        tokio::select! {
            biased;
            () = tokio::task::yield_now() => {}
            chunk = exchange.chunk() => match chunk.unwrap() {
                Some(chunk) => read.extend_from_slice(&chunk),
                None => break,
            },
        }
    }
    assert_eq!(read, b"onetwo");
}
