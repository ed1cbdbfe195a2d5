//! Each way of failing, and the fault that it is.

use std::time::Duration;

use domain::{Fault, FaultKind};
use tokio::net::TcpListener;
use tokio::time::Instant;
use upstream::{BreakerMode, ErrorKind, Url};

use crate::peer::{Act, Peer, reply, streamed};
use crate::{BODY, KEY, call, call_of_ms, kind, source, upstream};

/// The fault of a call to `base`.
async fn fault_at(base: &Url) -> Fault {
    let upstream = upstream(base, BreakerMode::Enforce);
    let fault = upstream.post("/", BODY.to_vec(), &call()).await.expect_err("it cannot succeed");
    assert_eq!(upstream.counts().failed(fault.kind()), 1);
    fault
}

async fn fault_of(act: Act) -> Fault {
    fault_at(&Peer::start(act).await.base).await
}

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let fault = fault_at(&base).await;
    assert_eq!((fault.kind(), kind(&fault)), (FaultKind::Error, ErrorKind::Unreachable));
    assert_eq!(fault.retry_after(), AT_ONCE);
}

#[tokio::test]
async fn a_name_that_nobody_has() {
    // Reserved never to exist.
    let fault = fault_at(&"http://user:hush@kiwari.invalid".parse().unwrap()).await;
    assert_eq!((fault.kind(), kind(&fault)), (FaultKind::Error, ErrorKind::Unreachable));
    assert!(!format!("{fault:?}").contains("hush"), "{fault:?}");
}

#[tokio::test]
async fn the_connection_breaks() {
    let halfway = reply("200 OK", "a long reply").replace("a long reply", "a long");
    for act in [
        Act::SayAndReset(String::new()),
        Act::SayAndReset("HTTP/1.1 200 OK\r\n".to_owned()),
        Act::SayAndReset(halfway),
        Act::SayAndReset(streamed("half")),
        Act::SayAndReset("SSH-2.0-OpenSSH_9.6\r\n".to_owned()),
    ] {
        let fault = fault_of(act.clone()).await;
        assert_eq!((fault.kind(), kind(&fault)), (FaultKind::Error, ErrorKind::Broken), "{act:?}");
        assert_eq!(fault.retry_after(), AT_ONCE);
    }
}

#[tokio::test]
async fn the_far_side_does_not_speak_tls() {
    let peer = Peer::start(Act::SayAndHang(String::new())).await;
    // It waits for an end of a request's head that never comes; so the handshake ends with the deadline.
    let secure: Url = peer.base.as_str().replace("http:", "https:").parse().unwrap();
    let upstream = upstream(&secure, BreakerMode::Enforce);
    let fault = upstream.get("/", &call_of_ms(200)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Timeout);
    // One that talks back is found out at once, and for good.
    let talks = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}", talks.local_addr().unwrap()).parse().unwrap();
    let answering = async {
        let (mut stream, _) = talks.accept().await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"220 mail ESMTP\r\n").await.unwrap();
        std::future::pending::<()>().await;
    };
    let fault = tokio::select! {
        fault = fault_at(&base) => fault,
        () = answering => unreachable!("it never ends"),
    };
    assert_eq!((fault.kind(), kind(&fault)), (FaultKind::Error, ErrorKind::Tls));
    assert_eq!(fault.retry_after(), None);
}

#[tokio::test]
async fn a_proxy_says_it_in_html() {
    let fault = fault_of(Act::Say(reply("502 Bad Gateway", "<html>\n<h1>502</h1>"))).await;
    assert_eq!((fault.kind(), fault.retry_after()), (FaultKind::Error, AT_ONCE));
    assert_eq!(source(&fault).to_string(), "status 502: <html> <h1>502</h1>");
}

#[tokio::test]
async fn a_rate_limit_says_how_long_it_lasts() {
    let body = r#"[{"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.5s"}]}}]"#;
    let fault = fault_of(Act::Say(reply("429 Too Many Requests", body))).await;
    assert_eq!(fault.kind(), FaultKind::RateLimited);
    assert_eq!(fault.retry_after(), Some(Duration::from_millis(2500)));
    let headed = "HTTP/1.1 429 Slow\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n";
    let fault = fault_of(Act::Say(headed.to_owned())).await;
    assert_eq!(fault.retry_after(), Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn the_words_of_an_error_are_not_waited_for_forever() {
    let stalls = "HTTP/1.1 503 Busy\r\ncontent-length: 900\r\n\r\n{\"error\":".to_owned();
    let fault = fault_of(Act::SayAndHang(stalls)).await;
    assert_eq!((fault.kind(), source(&fault).status), (FaultKind::Error, Some(503)));
}

#[tokio::test]
async fn neither_the_key_nor_what_was_asked_is_in_an_error() {
    let fault = fault_of(Act::Echo).await;
    let printed = format!("{fault:?} {}", source(&fault));
    assert_eq!((kind(&fault), source(&fault).status), (ErrorKind::BadRequest, Some(400)));
    assert!(printed.contains("x-attempt: 2"), "the rest is kept: {printed}");
    assert!(!printed.contains("refund"), "{printed}");
    assert!(!printed.contains(KEY), "{printed}");
}

#[tokio::test]
async fn a_reply_without_end_is_cut() {
    let endless = "HTTP/1.1 200 OK\r\n\r\n".to_owned() + &"x".repeat((32 << 20) + 1);
    let fault = fault_of(Act::SayAndHang(endless)).await;
    assert_eq!((fault.kind(), kind(&fault)), (FaultKind::Error, ErrorKind::TooLarge));
}

/// The paused clock moves when everybody waits, so it stops at the moment of the deadline.
#[track_caller]
fn assert_elapsed(since: Instant, ms: u64) {
    let elapsed = since.elapsed();
    let late = elapsed.checked_sub(Duration::from_millis(ms));
    // Tokio's timers are whole milliseconds, rounded up.
    assert!(late.is_some_and(|late| late <= Duration::from_millis(1)), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_call_wherever_it_hangs() {
    for said in [String::new(), reply("200 OK", "12345").replace("345", ""), streamed("half")] {
        let peer = Peer::start(Act::SayAndHang(said)).await;
        let upstream = upstream(&peer.base, BreakerMode::Enforce);
        let started = Instant::now();
        let fault = upstream.post("/", BODY.to_vec(), &call_of_ms(340)).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Timeout);
        assert_elapsed(started, 340);
    }
}

#[tokio::test(start_paused = true)]
async fn no_call_is_made_without_time_for_it() {
    let peer = Peer::start(Act::Say(reply("200 OK", "{}"))).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    let fault = upstream.post("/", BODY.to_vec(), &call_of_ms(0)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Timeout);
    assert_eq!((peer.connections(), upstream.counts().calls), (0, 0));
}
