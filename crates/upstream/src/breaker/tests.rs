//! Scripts of calls: when they start and how they end, and what the breaker makes of it.

use std::time::Duration;

use tokio::time::Instant;

use super::{Breaker, BreakerCause, BreakerState, Change, Outcome, Pass, Refusal};

const FAILED: Outcome = Outcome::Failed { asked: None };
const OPENED: Option<Change> = Some(Change::Opened(BreakerCause::Failures));

/// A breaker and the moment its script began.
struct Script {
    breaker: Breaker,
    began: Instant,
}

impl Script {
    fn new() -> Self {
        let began = Instant::now();
        Self { breaker: Breaker::new(began), began }
    }

    fn at(&self, ms: u64) -> Instant {
        self.began + Duration::from_millis(ms)
    }

    fn admit(&mut self, ms: u64) -> Result<Pass, Refusal> {
        let now = self.at(ms);
        self.breaker.admit(now)
    }

    /// A call that starts and ends at once.
    #[track_caller]
    fn call(&mut self, ms: u64, outcome: Outcome) -> Option<Change> {
        let pass = self.admit(ms).expect("it is let through");
        self.end(pass, ms, outcome)
    }

    fn end(&mut self, pass: Pass, ms: u64, outcome: Outcome) -> Option<Change> {
        let now = self.at(ms);
        self.breaker.conclude(pass, outcome, now)
    }

    #[track_caller]
    fn calls(&mut self, count: u64, ms: u64, outcome: Outcome) {
        for _ in 0..count {
            assert_eq!(self.call(ms, outcome), None, "too early");
        }
    }

    #[track_caller]
    fn refuses(&mut self, ms: u64, cause: BreakerCause, again_in_ms: u64) {
        let refusal = Refusal { cause, again_in: Duration::from_millis(again_in_ms) };
        assert_eq!(self.admit(ms), Err(refusal), "at {ms} ms");
    }

    /// Opened by ten failures at 0 ms, one of which `asked` for peace.
    fn opened(asked: Option<Duration>) -> Self {
        let mut script = Self::new();
        script.calls(9, 0, FAILED);
        assert_eq!(script.call(0, Outcome::Failed { asked }), OPENED);
        script
    }
}

/// Whether `failures` and `successes`, spread over `ms`, open it.
#[track_caller]
fn check(failures: u64, successes: u64, ms: u64, opens: bool) {
    let mut script = Script::new();
    let calls = failures + successes;
    let opened = (0..calls).any(|call| {
        // The failures come last, so that their share only grows.
        let outcome = if call < successes { Outcome::Worked } else { FAILED };
        script.call(call * ms / calls, outcome).is_some()
    });
    assert_eq!(opened, opens, "{failures} of {calls} in {ms} ms");
}

#[test]
fn half_of_ten_calls_within_five_seconds_must_fail() {
    check(9, 0, 1000, false);
    check(10, 0, 1000, true);
    check(5, 5, 1000, true);
    check(4, 6, 1000, false);
    check(50, 51, 4000, false);
    check(51, 51, 4000, true);
    // Two a second are nine or ten within five seconds, one a second never are.
    check(30, 0, 30_000, false);
    check(90, 0, 30_000, true);
}

#[test]
fn what_is_five_seconds_old_is_forgotten() {
    let mut script = Script::new();
    script.calls(9, 0, FAILED);
    script.calls(9, 5600, FAILED);
    assert_eq!(script.call(5600, FAILED), OPENED);
    let mut script = Script::new();
    script.calls(9, 0, FAILED);
    // After an hour of silence, too.
    script.calls(9, 3_600_000, FAILED);
}

#[test]
fn calls_that_tell_nothing_are_not_counted() {
    let mut script = Script::new();
    script.calls(100, 0, Outcome::Unknown);
    script.calls(9, 0, FAILED);
    script.calls(100, 0, Outcome::Unknown);
    assert_eq!(script.call(0, FAILED), OPENED);
}

#[test]
fn one_probe_a_second_goes_through_until_three_in_a_row_have_worked() {
    let mut script = Script::opened(None);
    script.refuses(0, BreakerCause::Failures, 1000);
    script.refuses(999, BreakerCause::Failures, 1);
    assert_eq!(script.call(1000, FAILED), None);
    script.refuses(1001, BreakerCause::Failures, 999);
    // What works is followed at once.
    assert_eq!(script.call(2000, Outcome::Worked), None);
    assert_eq!(script.call(2000, Outcome::Worked), None);
    assert_eq!(script.breaker.state(), BreakerState::Open(BreakerCause::Failures));
    assert_eq!(script.call(2001, Outcome::Worked), Some(Change::Closed));
    assert_eq!(script.breaker.state(), BreakerState::Closed);
    script.calls(9, 3000, FAILED);
}

#[test]
fn a_probe_that_fails_starts_the_count_again() {
    let mut script = Script::opened(None);
    script.call(1000, Outcome::Worked);
    script.call(1001, Outcome::Worked);
    assert_eq!(script.call(1002, FAILED), None);
    script.refuses(1003, BreakerCause::Failures, 999);
    script.call(2002, Outcome::Worked);
    script.call(2003, Outcome::Worked);
    assert_eq!(script.call(2004, Outcome::Worked), Some(Change::Closed));
}

#[test]
fn a_probe_that_hangs_does_not_keep_the_next_ones_waiting() {
    let mut script = Script::opened(None);
    let hung = [1000, 2000, 3000].map(|ms| script.admit(ms).unwrap());
    script.refuses(3001, BreakerCause::Failures, 999);
    let [cut, failed, worked] = hung;
    assert_eq!(script.end(cut, 3500, Outcome::Unknown), None);
    script.refuses(3501, BreakerCause::Failures, 499);
    assert_eq!(script.end(worked, 3600, Outcome::Worked), None);
    // What was asked before that tells nothing new.
    assert_eq!(script.end(failed, 3700, FAILED), None);
    assert_eq!(script.call(3700, Outcome::Worked), None);
    assert_eq!(script.call(3701, Outcome::Worked), Some(Change::Closed));
}

#[test]
fn one_probe_at_a_time_follows_what_works() {
    let mut script = Script::opened(None);
    assert_eq!(script.call(1000, Outcome::Worked), None);
    let following = script.admit(1001).unwrap();
    script.refuses(1002, BreakerCause::Failures, 999);
    assert_eq!(script.end(following, 1100, Outcome::Worked), None);
    assert_eq!(script.call(1100, Outcome::Worked), Some(Change::Closed));
}

#[test]
fn calls_from_before_it_opened_change_nothing() {
    let mut script = Script::new();
    let early = [0; 4].map(|ms| script.admit(ms).unwrap());
    script.calls(9, 0, FAILED);
    assert_eq!(script.call(0, FAILED), OPENED);
    for pass in early {
        assert_eq!(script.end(pass, 500, Outcome::Worked), None);
    }
    script.refuses(500, BreakerCause::Failures, 500);
}

#[test]
fn calls_from_before_it_closed_do_not_open_it_again() {
    let mut script = Script::new();
    let early: Vec<Pass> = (0..10).map(|_| script.admit(0).unwrap()).collect();
    script.calls(9, 0, FAILED);
    assert_eq!(script.call(0, FAILED), OPENED);
    for _probe in 0..3 {
        script.call(3000, Outcome::Worked);
    }
    for pass in early {
        assert_eq!(script.end(pass, 3001, FAILED), None);
    }
    assert_eq!(script.breaker.state(), BreakerState::Closed);
}

#[test]
fn the_first_probe_waits_as_long_as_the_far_side_asked() {
    let mut script = Script::opened(Some(Duration::from_secs(5)));
    script.refuses(4999, BreakerCause::Failures, 1);
    script.call(5000, Outcome::Worked);
    // A call that was under way may ask for more.
    let mut script = Script::new();
    let early = script.admit(0).unwrap();
    script.calls(9, 0, FAILED);
    assert_eq!(script.call(0, FAILED), OPENED);
    script.end(early, 100, Outcome::Failed { asked: Some(Duration::from_secs(3)) });
    script.refuses(100, BreakerCause::Failures, 3000);
    // But nobody is waited for all day.
    let mut script = Script::opened(Some(Duration::from_secs(3600)));
    script.refuses(0, BreakerCause::Failures, 30_000);
}

#[test]
fn a_wrong_key_or_an_empty_account_opens_at_once_for_a_minute() {
    for (outcome, cause) in
        [(Outcome::BadKey, BreakerCause::BadKey), (Outcome::Quota, BreakerCause::Quota)]
    {
        let mut script = Script::new();
        script.calls(50, 0, Outcome::Worked);
        assert_eq!(script.call(0, outcome), Some(Change::Opened(cause)));
        script.refuses(59_999, cause, 1);
        assert_eq!(script.call(60_000, outcome), Some(Change::Opened(cause)), "said once a minute");
        script.refuses(60_000, cause, 60_000);
        assert_eq!(script.call(120_000, Outcome::Worked), Some(Change::Closed));
    }
}

#[test]
fn a_right_key_at_last_may_meet_an_upstream_that_fails() {
    let mut script = Script::new();
    script.call(0, Outcome::BadKey);
    assert_eq!(script.call(60_000, FAILED), OPENED);
    script.refuses(60_000, BreakerCause::Failures, 1000);
}
