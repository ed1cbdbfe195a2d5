//! When a stream starts, when it ends, and what dropping it does.

use std::time::Duration;

use deadline::Deadline;
use domain::{Delta, FaultKind, FinishReason};
use futures_util::StreamExt as _;
use upstream::Auth;

use crate::common::{AMPLE, Reply, gemini, openai, start, upstream};
use crate::peer::{Act, Peer};

const TEXT: &[u8] =
    b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Open it.\"}]}}]}\r\n\r\n";
const STOP: &[u8] =
    b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\" Tap.\"}]},\"finishReason\":\"STOP\"}]}\r\n\r\n";

fn send(bytes: &[u8]) -> Act {
    Act::Send(bytes.to_vec())
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_polled() {
    let peer = Peer::playing(vec![Act::Head, send(STOP), Act::End]).await;
    let upstream = upstream(peer.address, "", Auth::None);
    let generator = gemini(&upstream);
    drop(start(&generator, AMPLE));
    let stream = start(&generator, AMPLE);
    assert_eq!(upstream.counts().calls, 0);
    assert_eq!(Reply::of(stream).await.text, " Tap.");
    assert_eq!(peer.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn dropping_a_stream_closes_the_connection() {
    let mut peer = Peer::playing(vec![Act::Head, send(TEXT), Act::Hang]).await;
    let upstream = upstream(peer.address, "", Auth::None);
    let mut stream = start(&gemini(&upstream), AMPLE);
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(first, Delta::Text("Open it.".to_owned()));
    drop(stream);
    peer.left.take().unwrap().await.expect("the peer saw the connection close");
    assert_eq!(upstream.counts().abandoned, 1);
}

#[tokio::test]
async fn a_stalled_stream_ends_at_its_deadline_with_what_came() {
    let mut peer = Peer::playing(vec![Act::Head, send(TEXT), Act::Hang]).await;
    let upstream = upstream(peer.address, "", Auth::None);
    let reply = Reply::of(start(&gemini(&upstream), Duration::from_millis(300))).await;
    assert_eq!((reply.text.as_str(), reply.finish), ("Open it.", None));
    assert_eq!(reply.fault_kind(), Some(FaultKind::Timeout));
    peer.left.take().unwrap().await.expect("the peer saw the connection close");
}

#[tokio::test]
async fn a_stream_that_said_it_is_done_needs_no_end() {
    for script in [
        vec![Act::Head, send(TEXT), send(STOP), Act::Hang],
        vec![Act::Head, send(TEXT), send(STOP), Act::Close],
    ] {
        let peer = Peer::playing(script).await;
        let upstream = upstream(peer.address, "", Auth::None);
        let generator = gemini(&upstream);
        // Long before its own deadline, or it would have waited for an end that never comes.
        let read = Reply::of(start(&generator, AMPLE));
        let reply = Deadline::after(AMPLE / 2).run(read).await.expect("it does not wait");
        assert_eq!(
            (reply.text.as_str(), reply.finish),
            ("Open it. Tap.", Some(FinishReason::Stop))
        );
        assert!(reply.fault.is_none());
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_a_fault_after_its_text() {
    let peer = Peer::playing(vec![Act::Head, send(TEXT), Act::Close]).await;
    let upstream = upstream(peer.address, "", Auth::None);
    let reply = Reply::of(start(&gemini(&upstream), AMPLE)).await;
    assert_eq!((reply.text.as_str(), reply.finish), ("Open it.", None));
    assert_eq!(reply.fault_kind(), Some(FaultKind::Error));
    assert_eq!(reply.fault.unwrap().retry_after(), Some(Duration::ZERO));
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_whole_reply() {
    let done = b"data: {\"choices\":[{\"delta\":{\"content\":\"Yes.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let peer = Peer::playing(vec![Act::Head, send(done), Act::End]).await;
    let upstream = upstream(peer.address, "/v1", Auth::None);
    // The peer serves one connection at a time, so a second one would wait for the first to close.
    for _ in 0..3 {
        let reply = Reply::of(start(&openai(&upstream), AMPLE)).await;
        assert_eq!((reply.text.as_str(), reply.finish), ("Yes.", Some(FinishReason::Stop)));
    }
    assert_eq!(peer.requests.lock().unwrap().len(), 3);
    assert_eq!(upstream.counts().succeeded, 3);
}
