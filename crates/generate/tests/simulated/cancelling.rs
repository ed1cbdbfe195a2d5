//! Dropping a stream reaches the far side.

use std::time::Duration;

use futures_util::StreamExt as _;
use simulator::{Entry, FaultKind, Simulator};
use upstream::BreakerState;

use crate::common::{AMPLE, start};
use crate::wires::{plan, simulator, wires};

/// The journal's last entry once its client has gone.
async fn left(simulator: &Simulator) -> Entry {
    loop {
        let last = simulator.journal().pop();
        if let Some(entry) = last.filter(|entry| entry.client_gone_ms.is_some()) {
            return entry;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_stream_dropped_while_it_writes_is_seen_to_go() {
    let simulator = simulator().await;
    simulator.set_faults(plan(FaultKind::StallMidstream));
    for wire in wires(&simulator) {
        simulator.clear_journal();
        let mut stream = start(wire.generator.as_ref(), AMPLE);
        let first = stream.next().await.expect("it has begun");
        assert!(first.is_ok(), "{first:?}");
        drop(stream);
        let entry = left(&simulator).await;
        assert!(entry.bytes > 0 && entry.ended_ms.is_none(), "{}: {entry:?}", wire.name);
        assert_eq!(wire.upstream.counts().abandoned, 1);
        assert_eq!(wire.upstream.breaker_state(), BreakerState::Closed);
    }
}

#[tokio::test]
async fn a_stream_dropped_before_it_says_anything_is_seen_to_go() {
    let simulator = simulator().await;
    for kind in [FaultKind::HangBeforeHeaders, FaultKind::HangAfterHeaders] {
        simulator.set_faults(plan(kind));
        for wire in wires(&simulator) {
            simulator.clear_journal();
            let mut stream = start(wire.generator.as_ref(), AMPLE);
            let waited = tokio::select! {
                item = stream.next() => panic!("nothing is sent: {item:?}"),
                () = arrived(&simulator) => stream,
            };
            drop(waited);
            assert_eq!(left(&simulator).await.bytes, 0, "{kind} on {}", wire.name);
        }
    }
}

async fn arrived(simulator: &Simulator) {
    while simulator.summary().open == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
