//! Speeds of a day that was logged by hand.

use super::*;

fn request(received_at_us: i64, first_token: u64) -> PastRequest {
    let call = PastCall {
        model: "m".to_owned(),
        attempt: 1,
        first_token: Some(Duration::from_millis(first_token)),
        took: Duration::from_millis(first_token + 1000),
        ended: Ended::Done,
        text_tokens: Some(90),
    };
    PastRequest { received_at_us, calls: vec![call], ..PastRequest::default() }
}

/// None of these calls came to a first token within `took` milliseconds.
fn silent(requests: &mut [PastRequest], took: u64, ended: Ended) {
    for call in requests.iter_mut().flat_map(|request| &mut request.calls) {
        call.first_token = None;
        call.took = Duration::from_millis(took);
        call.ended = ended;
    }
}

fn history(requests: Vec<PastRequest>) -> History {
    History { answered: requests.len() as u64, requests }
}

#[test]
fn hours_with_few_calls_fall_back_on_all_hours() {
    let nine = (0..FEWEST_CALLS).map(|_| request(9 * US_PER_HOUR, 800));
    let ten = (1..FEWEST_CALLS).map(|_| request(10 * US_PER_HOUR, 200));
    let speeds = speeds(&history(nine.chain(ten).collect()));
    let hours: Vec<Option<u8>> = speeds.iter().map(|speed| speed.hour).collect();
    assert_eq!(hours, [None, Some(9)]);
    let at = |hour| speed_at(&speeds, "m", hour).unwrap();
    assert_eq!((at(9).first_token_ms, at(9).n), (800.0, FEWEST_CALLS));
    assert_eq!((at(10).hour, at(10).n), (None, 2 * FEWEST_CALLS - 1));
    assert_eq!(at(9).tokens_per_second, Some(90.0));
    assert_eq!(speed_at(&speeds, "other", 9), None);
}

/// Europe set its clocks back on 2025-10-26 at 01:00 UTC, so that 02:30 there came twice: 00:30 and 01:30.
/// America's west skipped from 10:00 UTC on 2025-03-09. Hours of UTC notice neither, before 1970 neither.
#[test]
fn clock_changes_neither_double_nor_lose_an_hour() {
    let hour_of = |seconds: i64| request(seconds * 1_000_000, 1).hour();
    assert_eq!((hour_of(1_761_438_600), hour_of(1_761_442_200)), (0, 1));
    assert_eq!((hour_of(1_741_512_600), hour_of(1_741_516_200)), (9, 10));
    assert_eq!((hour_of(-1), hour_of(0), hour_of(86_399)), (23, 0, 23));
}

#[test]
fn a_call_that_never_showed_a_token_does_not_make_the_model_look_fast() {
    let mut requests: Vec<_> = (0..10).map(|_| request(0, 500)).collect();
    silent(&mut requests[..4], 100, Ended::Cut);
    let seen = speeds(&history(requests));
    assert!((seen[0].first_token_ms - 500.0).abs() < 1e-9, "{seen:?}");
}

/// A lighter model is dropped as soon as the first one has finished after all.
#[test]
fn a_model_that_was_mostly_dropped_took_at_least_as_long_as_it_was_given() {
    let mut requests: Vec<_> = (0..FEWEST_CALLS).map(|_| request(0, 90)).collect();
    silent(&mut requests[10..], 80, Ended::Cut);
    let seen = speeds(&history(requests.clone()));
    assert_eq!((seen[0].first_token_ms, seen[0].is_lower_bound), (90.0, false));
    let seen = speeds(&history(requests.split_off(10)));
    assert_eq!((seen[0].first_token_ms, seen[0].is_lower_bound), (80.0, true));
}

#[test]
fn a_call_that_failed_at_once_tells_nothing() {
    let mut requests: Vec<_> = (0..100).map(|_| request(0, 500)).collect();
    silent(&mut requests[40..], 5, Ended::Failed);
    let seen = speed_at(&speeds(&history(requests.clone())), "m", 0).unwrap();
    assert_eq!((seen.n, seen.first_token_ms), (40, 500.0));
    assert_eq!(speeds(&history(requests.split_off(40))), []);
}

#[test]
fn with_few_calls_a_speed_is_shown_and_not_used() {
    let few: Vec<_> = (1..FEWEST_CALLS).map(|_| request(0, 300)).collect();
    let speeds = speeds(&history(few));
    assert_eq!((speeds.len(), speeds[0].n), (1, FEWEST_CALLS - 1));
    assert_eq!(speeds[0].tokens_per_second, None);
    assert_eq!(speed_at(&speeds, "m", 0), None);
}

#[test]
fn an_hour_of_short_texts_has_the_pace_of_all_hours() {
    let mut requests: Vec<_> = (0..2 * FEWEST_CALLS).map(|_| request(0, 300)).collect();
    for request in requests.iter_mut().skip(FEWEST_CALLS) {
        request.received_at_us = US_PER_HOUR;
        request.calls[0].text_tokens = Some(3);
    }
    let speeds = speeds(&history(requests));
    assert_eq!(speeds[2].tokens_per_second, None);
    let at = speed_at(&speeds, "m", 1).unwrap();
    assert_eq!((at.hour, at.tokens_per_second), (Some(1), Some(90.0)));
}

/// Every hour of a day has its own speed, wherever the clock is set to.
#[test]
fn the_hour_of_a_moment_is_the_one_that_the_log_has() {
    let day = |hour: u8| (0..FEWEST_CALLS).map(move |_| (hour, 100 + u64::from(hour)));
    let requests = (0..HOURS).flat_map(day);
    let requests = requests.map(|(hour, ms)| request(i64::from(hour) * US_PER_HOUR, ms));
    let speeds = speeds(&history(requests.collect()));
    assert_eq!(speeds.len(), 25);
    let at = |moment| speed_at(&speeds, "m", hour_of(moment)).unwrap().first_token_ms;
    let after = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    for hour in 0..24_u32 {
        // 2026-03-29, on which Europe has 23 hours.
        let begins = 1_774_742_400 + u64::from(hour) * 3600;
        for moment in [after(begins), after(begins + 3599)] {
            assert!((at(moment) - f64::from(100 + hour)).abs() < 1e-9, "{hour}");
        }
    }
    // A clock that was never set.
    let unset = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
    assert_eq!((hour_of(unset), hour(unix_micros(unset))), (0, 0));
}

#[test]
fn what_no_model_can_have_taken_is_wrong() {
    let right = Speed {
        model: "m".to_owned(),
        hour: Some(23),
        n: 40,
        first_token_ms: 4000.0,
        is_lower_bound: false,
        tokens_per_second: Some(5000.0),
    };
    assert_eq!(right.check(4000), Ok(()));
    assert_eq!(Speed { hour: None, tokens_per_second: None, ..right.clone() }.check(4000), Ok(()));
    for (hour, first_token_ms, pace) in [
        (24, 400.0, 80.0),
        (255, 400.0, 80.0),
        (0, 0.0, 80.0),
        (0, -1.0, 80.0),
        (0, 4000.1, 80.0),
        (0, f64::NAN, 80.0),
        (0, f64::INFINITY, 80.0),
        (0, 400.0, 0.0),
        (0, 400.0, 0.99),
        (0, 400.0, -80.0),
        (0, 400.0, 5000.1),
        (0, 400.0, f64::NAN),
    ] {
        let tokens_per_second = Some(pace);
        let wrong = Speed { hour: Some(hour), first_token_ms, tokens_per_second, ..right.clone() };
        assert!(wrong.check(4000).is_err(), "{wrong:?}");
    }
}

/// What is proposed is not refused afterwards.
#[test]
fn what_was_measured_is_never_wrong() {
    for (first_token, took, tokens) in [(0, 51, 9000), (1, 4000, 16), (0, 3_600_000, 16)] {
        let mut requests: Vec<_> = (0..FEWEST_CALLS).map(|_| request(0, 0)).collect();
        for request in &mut requests {
            request.calls[0].first_token = Some(Duration::from_millis(first_token));
            request.calls[0].took = Duration::from_millis(took);
            request.calls[0].text_tokens = Some(tokens);
        }
        for speed in speeds(&history(requests)) {
            assert!(speed.tokens_per_second.is_some());
            assert_eq!(speed.check(4000), Ok(()));
        }
    }
}
