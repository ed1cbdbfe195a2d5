//! Whatever a model API does, the answer leaves in time, is no error, and says truthfully what it lacks.
//!
//! Real sockets, the real binary, and a simulated API that goes wrong in every way it knows, for each stage
//! that calls it, as JSON and as an event stream.

mod asking;
mod faults;
mod noise;
mod world;

use asking::{Form, Seen, ask_at_once};
use faults::{EMBED, Expected, GENERATE};
use noise::Noise;
use serde_json::json;
use std::time::Duration;
use world::{BUDGET_MS, World};

/// A response may leave this much after its deadline.
const GRACE: Duration = Duration::from_millis(25);
/// Cancellation reaches the far side within this.
const CANCELLED_WITHIN: Duration = Duration::from_millis(50);

#[test]
fn every_fault_of_every_stage_is_answered_in_time_and_truthfully() {
    let world = World::start();
    let noise = Noise::listen();
    let mut failures = Vec::new();
    let mut asked = 0;
    for (stage, cases) in [("generate", GENERATE), ("embed", EMBED)] {
        for expected in cases {
            world.simulator.break_stage(stage, expected.fault);
            let seen = ask_at_once(&world, &[Form::Json, Form::Stream, Form::Json, Form::Stream]);
            let settled = world.simulator.settles_within(CANCELLED_WITHIN + noise.most());
            asked += seen.len();
            failures
                .extend(seen.iter().filter_map(|seen| complaint(stage, expected, seen, &noise)));
            if !settled {
                failures.push(format!("{stage} {}: calls go on after the answer", expected.fault));
            }
        }
    }
    assert_eq!(failures, Vec::<String>::new(), "{asked} asked, noise {:?}", noise.most());
}

/// What is wrong with an answer, if anything.
fn complaint(stage: &str, expected: &Expected, seen: &Seen, noise: &Noise) -> Option<String> {
    let label = format!("{stage} {} {:?}", expected.fault, seen.form);
    let allowed = Duration::from_millis(BUDGET_MS) + GRACE + noise.most();
    if seen.status != 200 {
        return Some(format!("{label}: status {}", seen.status));
    }
    if seen.took > allowed {
        return Some(format!("{label}: took {:?}", seen.took));
    }
    if !expected.kinds.contains(&seen.kind.as_str()) {
        return Some(format!("{label}: kind {} with {:?}", seen.kind, seen.reasons));
    }
    let reasons = [format!("{stage}:{}", expected.reason)];
    if seen.reasons != reasons {
        return Some(format!("{label}: reasons {:?}", seen.reasons));
    }
    if !seen.degraded || !seen.adds_up {
        return Some(format!("{label}: degraded {}, adds up {}", seen.degraded, seen.adds_up));
    }
    None
}

#[test]
fn a_full_answer_is_not_labelled() {
    let world = World::start();
    for seen in ask_at_once(&world, &[Form::Json, Form::Stream]) {
        let label = (seen.status, seen.kind.as_str(), seen.degraded, seen.reasons.len());
        assert_eq!(label, (200, "generated", false, 0), "{seen:?}");
        assert!(seen.adds_up, "{seen:?}");
    }
}

#[test]
fn a_stalled_vector_search_gives_way_to_the_keywords() {
    let world = World::start_with(&["--delay-vectors", "field:1:1000"]);
    let noise = Noise::listen();
    for seen in ask_at_once(&world, &[Form::Json, Form::Stream]) {
        assert_eq!(seen.status, 200);
        assert_eq!(seen.kind, "generated");
        assert_eq!(seen.reasons, ["vector:timeout"]);
        assert!(seen.degraded);
        let allowed = Duration::from_millis(BUDGET_MS) + GRACE + noise.most();
        assert!(seen.took <= allowed, "{:?}", seen.took);
    }
}

#[test]
fn a_client_that_goes_away_takes_the_call_of_the_model_with_it() {
    for form in [Form::Json, Form::Stream] {
        let world = World::start();
        let noise = Noise::listen();
        world.simulator.break_stage("generate", "hang_before_headers");
        world.simulator.clear_journal();
        asking::leave_after(&world, form, Duration::from_millis(150));
        assert!(
            world.simulator.settles_within(CANCELLED_WITHIN + noise.most()),
            "{form:?}: {:?}",
            world.simulator.journal()
        );
        let gone = world.simulator.summary()["client_gone"].as_u64();
        assert!(gone >= Some(1), "{form:?}: {gone:?}");
    }
}

#[test]
fn tokens_that_were_wasted_are_those_that_the_api_bills() {
    let world = World::start();
    world.simulator.clear_journal();
    // In the second piece the API has counted the tokens of the text so far.
    world.simulator.set_faults(
        &json!({"generate": {"kind": "stall_midstream", "rate": 1.0, "after_chunks": 2}}),
    );
    let _cut = ask_at_once(&world, &[Form::Json, Form::Json]);
    world.simulator.break_stage("generate", "unsupported");
    let _unsupported = ask_at_once(&world, &[Form::Json]);
    world.simulator.mend();
    let _well = ask_at_once(&world, &[Form::Json]);
    let billed = world.simulator.journal();
    let output = |fault: &str| -> u64 {
        let calls = billed.iter().filter(|call| call["kind"] == "generate");
        let with = calls.filter(|call| call["fault"].as_str().unwrap_or("none") == fault);
        with.map(|call| call["output_tokens"].as_u64().unwrap_or(0)).sum()
    };
    let models =
        system_tests::get(&format!("{}/health", world.server.address)).json()["models"].clone();
    let all: u64 = ["stall_midstream", "unsupported", "none"].into_iter().map(&output).sum();
    assert_eq!(models["output_tokens"], json!(all), "{models} {billed:?}");
    assert!(output("none") > 0 && output("unsupported") > 0);
    // A partial answer is used; what did not become an answer at all was wasted.
    let wasted = models["wasted_output_tokens"].as_u64().expect("a count");
    assert!(wasted >= output("unsupported"), "{models} {billed:?}");
}

#[test]
fn a_storm_of_refusals_is_answered_with_few_calls_and_is_over_at_once() {
    let world = World::start_with_breaker();
    world.simulator.clear_journal();
    world.simulator.break_stage("generate", "rate_limited_minute");
    let mut answered = 0;
    for _ in 0..20 {
        for seen in ask_at_once(&world, &[Form::Json; 4]) {
            assert_eq!((seen.status, seen.kind.as_str()), (200, "templated"), "{seen:?}");
            assert!(seen.degraded);
            let known = ["generate:rate_limited", "generate:breaker_open"];
            assert!(known.contains(&seen.reasons[0].as_str()), "{seen:?}");
            answered += 1;
        }
    }
    let calls = world.simulator.summary()["generate_calls"].as_u64().expect("a count");
    // A twentieth, and what the half-full bucket of retries held.
    assert!(calls <= answered + answered / 10, "{calls} calls for {answered} answers");
    world.simulator.mend();
    let recovered = (0..200).any(|_| {
        world::pause(Duration::from_millis(50));
        ask_at_once(&world, &[Form::Json])[0].kind == "generated"
    });
    assert!(recovered, "still refused long after the storm");
}
