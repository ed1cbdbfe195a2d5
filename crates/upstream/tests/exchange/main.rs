//! Calls over real sockets, with far sides that misbehave.

mod breaker;
mod cancelling;
mod faults;
mod peer;
mod wire;

use std::error::Error;
use std::time::Duration;

use deadline::Deadline;
use domain::{Call, Fault, RequestName};
use upstream::{
    Auth, BreakerMode, BreakerSettings, ErrorKind, Http, HttpSettings, Secret, Upstream,
    UpstreamError, Url,
};

const KEY: &str = "sk-do-not-tell";
const BODY: &[u8] = br#"{"model":"m","text":"how do I get a refund?"}"#;

fn upstream(base: &Url, mode: BreakerMode) -> Upstream {
    let http = Http::new(&HttpSettings::default()).expect("the defaults work");
    let breaker = BreakerSettings { mode, ..BreakerSettings::default() };
    Upstream::new(http, "peer", base.clone(), Auth::Bearer(Secret::new(KEY)), breaker)
}

/// A call with more time than any test takes.
fn call() -> Call {
    call_of_ms(60_000)
}

fn call_of_ms(ms: u64) -> Call {
    let deadline = Deadline::after(Duration::from_millis(ms));
    Call { deadline, request: RequestName::new("request-7"), attempt: 2 }
}

fn source(fault: &Fault) -> &UpstreamError {
    let source = fault.source().and_then(|source| source.downcast_ref());
    source.unwrap_or_else(|| panic!("{fault:?} has another source"))
}

fn kind(fault: &Fault) -> ErrorKind {
    source(fault).kind
}
