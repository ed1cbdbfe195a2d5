//! Every fault the simulator knows, on both wires.

use std::time::Duration;

use domain::{FaultKind as Kind, FinishReason};
use simulator::FaultKind;

use crate::common::{AMPLE, Reply, start};
use crate::wires::{plan, simulator, wires};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    None,
    Some,
}

/// What a stream brings: text or not, how it finishes, and what it fails with.
type Outcome = (Text, Option<FinishReason>, Option<Kind>);

fn expected(kind: FaultKind) -> Outcome {
    match kind {
        FaultKind::Refused
        | FaultKind::Unavailable
        | FaultKind::DeadlineExceeded
        | FaultKind::Html502
        | FaultKind::Internal
        | FaultKind::MalformedJson
        | FaultKind::EmptyParts => (Text::None, None, Some(Kind::Error)),
        FaultKind::HangBeforeHeaders | FaultKind::HangAfterHeaders => {
            (Text::None, None, Some(Kind::Timeout))
        }
        FaultKind::StallMidstream => (Text::Some, None, Some(Kind::Timeout)),
        FaultKind::ResetMidstream
        | FaultKind::MidstreamClose
        | FaultKind::MidstreamErrorRaw
        | FaultKind::MidstreamErrorEvent => (Text::Some, None, Some(Kind::Error)),
        // Truncated: the stream ends, and nothing says that it was whole.
        FaultKind::EofWithoutFinish => (Text::Some, None, None),
        FaultKind::RateLimitedMinute => (Text::None, None, Some(Kind::RateLimited)),
        FaultKind::RateLimitedDay => (Text::None, None, Some(Kind::Quota)),
        FaultKind::ThinkingExhausted => (Text::None, None, Some(Kind::ThinkingExhausted)),
        FaultKind::BlockedPrompt => (Text::None, None, Some(Kind::Blocked)),
        FaultKind::BlockedMidstream => (Text::Some, None, Some(Kind::Blocked)),
        FaultKind::Length => (Text::Some, Some(FinishReason::Length), None),
        FaultKind::Sentinel => (Text::None, Some(FinishReason::Declined), None),
        FaultKind::Unsupported | FaultKind::Uncited | FaultKind::AdminDelay => {
            (Text::Some, Some(FinishReason::Stop), None)
        }
    }
}

/// How long a reply is waited for: where it never comes, not for long, but for what comes before that.
fn budget(kind: FaultKind) -> Duration {
    match expected(kind) {
        (Text::None, _, Some(Kind::Timeout)) => Duration::from_millis(150),
        (Text::Some, _, Some(Kind::Timeout)) => Duration::from_secs(1),
        _ => AMPLE,
    }
}

#[tokio::test]
async fn every_fault_gives_what_came_and_the_reason() {
    let simulator = simulator().await;
    for &kind in FaultKind::ALL {
        simulator.set_faults(plan(kind));
        // A new far side each time: a breaker that remembers would get in between.
        for wire in wires(&simulator) {
            let reply = Reply::of(start(wire.generator.as_ref(), budget(kind))).await;
            let text = if reply.text.is_empty() { Text::None } else { Text::Some };
            let seen = (text, reply.finish, reply.fault_kind());
            assert_eq!(seen, expected(kind), "{kind} on {}: {reply:?}", wire.name);
            let counts = wire.upstream.counts();
            assert_eq!((counts.calls, counts.abandoned), (1, 0), "{kind} on {}", wire.name);
        }
    }
}

#[tokio::test]
async fn a_fault_says_whether_another_try_may_help() {
    let simulator = simulator().await;
    for (kind, passing) in [
        (FaultKind::Refused, true),
        (FaultKind::Unavailable, true),
        (FaultKind::MidstreamErrorRaw, true),
        (FaultKind::MidstreamErrorEvent, true),
        (FaultKind::EmptyParts, true),
        (FaultKind::RateLimitedMinute, true),
        (FaultKind::RateLimitedDay, false),
        (FaultKind::BlockedPrompt, false),
        (FaultKind::ThinkingExhausted, false),
    ] {
        simulator.set_faults(plan(kind));
        for wire in wires(&simulator) {
            let reply = Reply::of(start(wire.generator.as_ref(), AMPLE)).await;
            let fault = reply.fault.expect("it failed");
            assert_eq!(fault.retry_after().is_some(), passing, "{kind} on {}", wire.name);
        }
    }
}

#[tokio::test]
async fn the_sentinel_and_what_is_cut_never_show_as_more_than_they_are() {
    let simulator = simulator().await;
    simulator.set_faults(plan(FaultKind::Sentinel));
    for wire in wires(&simulator) {
        let reply = Reply::of(start(wire.generator.as_ref(), AMPLE)).await;
        assert_eq!((reply.text.as_str(), reply.finish), ("", Some(FinishReason::Declined)));
        assert!(reply.usage.is_some_and(|usage| usage.output_tokens > 0), "it was paid for");
    }
}
