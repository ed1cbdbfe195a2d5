//! Calls that are not made, and what decides it.

use std::time::Duration;

use domain::{Fault, FaultKind};
use futures_util::future::join_all;
use tokio::time::sleep;
use upstream::{BreakerCause, BreakerMode, BreakerState, ErrorKind, Upstream};

use crate::peer::{Act, Peer, reply};
use crate::{BODY, call, call_of_ms, kind, upstream};

const FAILED: BreakerState = BreakerState::Open(BreakerCause::Failures);

async fn fault(upstream: &Upstream) -> Fault {
    upstream.post("/", BODY.to_vec(), &call()).await.expect_err("it cannot succeed")
}

/// The state after `calls` replies with `status`.
async fn state_after(calls: usize, status: &str) -> BreakerState {
    let peer = Peer::start(Act::Say(reply(status, "{}"))).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    for _ in 0..calls {
        fault(&upstream).await;
    }
    upstream.breaker_state()
}

#[tokio::test]
async fn after_ten_failures_no_more_calls_are_made() {
    let peer = Peer::start(Act::Say(reply("500 Oops", "{}"))).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    for _ in 0..10 {
        assert_eq!(fault(&upstream).await.kind(), FaultKind::Error);
    }
    assert_eq!(upstream.breaker_state(), FAILED);
    let refused = fault(&upstream).await;
    assert_eq!((refused.kind(), kind(&refused)), (FaultKind::BreakerOpen, ErrorKind::BreakerOpen));
    assert!(refused.retry_after().is_some_and(|after| after <= Duration::from_secs(1)));
    let counts = upstream.counts();
    assert_eq!((counts.calls, counts.refused, peer.requests().len()), (10, 1, 10));
}

#[tokio::test]
async fn watching_refuses_nothing_and_off_sees_nothing() {
    for (mode, state) in [(BreakerMode::Observe, FAILED), (BreakerMode::Off, BreakerState::Closed)]
    {
        let peer = Peer::start(Act::Say(reply("500 Oops", "{}"))).await;
        let upstream = upstream(&peer.base, mode);
        for _ in 0..12 {
            assert_eq!(fault(&upstream).await.kind(), FaultKind::Error);
        }
        assert_eq!((upstream.breaker_state(), upstream.counts().refused), (state, 0));
        assert_eq!(peer.requests().len(), 12);
    }
}

#[tokio::test]
async fn rate_limits_count_and_our_own_mistakes_do_not() {
    assert_eq!(state_after(10, "429 Slow").await, FAILED);
    assert_eq!(state_after(10, "503 Busy").await, FAILED);
    for ours in ["400 Bad", "404 Where", "413 Big"] {
        assert_eq!(state_after(20, ours).await, BreakerState::Closed, "{ours}");
    }
}

#[tokio::test]
async fn a_wrong_key_is_not_shown_again_and_calls_end_with_the_truth() {
    let peer = Peer::start(Act::Say(reply("401 No", "{}"))).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    for _ in 0..3 {
        let fault = fault(&upstream).await;
        assert_eq!((fault.kind(), kind(&fault)), (FaultKind::Error, ErrorKind::BadKey));
        assert_eq!(fault.retry_after(), None);
    }
    assert_eq!(peer.requests().len(), 1);
}

#[tokio::test]
async fn a_used_up_allowance_is_not_asked_for_again() {
    let body = r#"{"error": {"message": "m", "type": "insufficient_quota"}}"#;
    let peer = Peer::start(Act::Say(reply("429 Slow", body))).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    for _ in 0..3 {
        let fault = fault(&upstream).await;
        assert_eq!((fault.kind(), kind(&fault)), (FaultKind::Quota, ErrorKind::Quota));
    }
    assert_eq!(peer.requests().len(), 1);
}

#[tokio::test]
async fn an_error_inside_a_stream_counts() {
    let peer = Peer::start(Act::Say(reply("200 OK", "data: {}\n\n"))).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    for _ in 0..10 {
        let exchange = upstream.open("/", BODY.to_vec(), &call()).await.unwrap();
        let error = serde_json::json!({"error": {"code": 503, "message": "high demand"}});
        exchange.failed(&upstream::fault_of_error_json(&error));
    }
    assert_eq!(upstream.breaker_state(), FAILED);
    assert_eq!(upstream.counts().failed(FaultKind::Error), 10);
}

/// The state after ten calls of `budget_ms` to a peer that hangs, one begun every `every_ms`.
async fn state_after_hanging(budget_ms: u64, every_ms: u64) -> BreakerState {
    let peer = Peer::start(Act::SayAndHang(String::new())).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    join_all((0..10).map(async |number| {
        sleep(Duration::from_millis(number * every_ms)).await;
        let fault =
            upstream.post("/", BODY.to_vec(), &call_of_ms(budget_ms)).await.expect_err("it hangs");
        assert_eq!(fault.kind(), FaultKind::Timeout);
    }))
    .await;
    upstream.breaker_state()
}

#[tokio::test(start_paused = true)]
async fn our_own_short_deadlines_do_not_open_it() {
    // All at once, and one after the other: nobody waited for two seconds.
    assert_eq!(state_after_hanging(1900, 0).await, BreakerState::Closed);
    assert_eq!(state_after_hanging(400, 450).await, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_far_side_that_hangs_opens_it() {
    assert_eq!(state_after_hanging(2000, 0).await, FAILED);
    assert_eq!(state_after_hanging(2100, 200).await, FAILED);
}

#[tokio::test(start_paused = true)]
async fn short_calls_that_together_hear_nothing_for_long_open_it() {
    let peer = Peer::start(Act::SayAndHang(String::new())).await;
    let upstream = upstream(&peer.base, BreakerMode::Enforce);
    // Each waits for 600 ms, and there are always some under way.
    join_all((0..30).map(async |number: u64| {
        sleep(Duration::from_millis(number * 150)).await;
        upstream.post("/", BODY.to_vec(), &call_of_ms(600)).await.unwrap_err()
    }))
    .await;
    assert_eq!(upstream.breaker_state(), FAILED);
}
