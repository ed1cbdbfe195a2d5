//! How fast models write, by hour of day.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Ended, History, PastCall, PastRequest, Sample, Survival};

/// With fewer calls than this, an hour says nothing of itself.
pub const FEWEST_PER_HOUR: usize = 30;

/// Texts shorter or faster than this do not tell a pace.
const FEWEST_TOKENS: u64 = 16;
const BRIEFEST: Duration = Duration::from_millis(50);

const US_PER_HOUR: i64 = 3_600_000_000;
const HOURS: i64 = 24;

/// How fast one model was, in one hour of the day or in all of them. Medians.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    pub model: String,
    /// UTC's, 0…23; `None` for all hours.
    pub hour: Option<u8>,
    /// Calls that it rests on.
    pub n: usize,
    /// From the call to its first text.
    pub first_token_ms: f64,
    /// From then on; `None` where no text was long enough to tell.
    pub tokens_per_second: Option<f64>,
}

/// The speeds of every model: over all hours, and for each hour that has enough calls.
#[must_use]
pub fn speeds(history: &History) -> Vec<Speed> {
    let mut calls: BTreeMap<&str, BTreeMap<u8, Vec<&PastCall>>> = BTreeMap::new();
    for request in &history.requests {
        let hour = hour(request);
        for call in &request.calls {
            calls.entry(&call.model).or_default().entry(hour).or_default().push(call);
        }
    }
    let mut speeds = Vec::new();
    for (model, by_hour) in calls {
        let all: Vec<&PastCall> = by_hour.values().flatten().copied().collect();
        speeds.extend(speed(model, None, &all));
        let enough = by_hour.iter().filter(|(_, calls)| calls.len() >= FEWEST_PER_HOUR);
        speeds.extend(enough.filter_map(|(hour, calls)| speed(model, Some(*hour), calls)));
    }
    speeds
}

/// The speed of `model` at `hour`, or over all hours where that hour says nothing of itself.
#[must_use]
pub fn speed_at<'a>(speeds: &'a [Speed], model: &str, hour: u8) -> Option<&'a Speed> {
    let of = |hour| speeds.iter().find(move |speed| speed.model == model && speed.hour == hour);
    of(Some(hour)).or_else(|| of(None))
}

/// The hour of the UTC day: local clocks are set forward and back, this one never is.
fn hour(request: &PastRequest) -> u8 {
    let hour = request.received_at_us.div_euclid(US_PER_HOUR).rem_euclid(HOURS);
    u8::try_from(hour).unwrap_or_default()
}

fn speed(model: &str, hour: Option<u8>, calls: &[&PastCall]) -> Option<Speed> {
    // A call without a first token would have had it later.
    let first_token = Survival::of(calls.iter().map(|call| Sample {
        took: call.first_token.unwrap_or(call.took),
        is_cut: call.first_token.is_none(),
    }))?;
    Some(Speed {
        model: model.to_owned(),
        hour,
        n: calls.len(),
        first_token_ms: first_token.quantile(0.5).ms,
        tokens_per_second: median(calls.iter().filter_map(|call| pace(call)).collect()),
    })
}

/// Tokens a second, once it wrote.
fn pace(call: &PastCall) -> Option<f64> {
    let writing = call.took.checked_sub(call.first_token?)?;
    let tokens = call.text_tokens.filter(|tokens| *tokens >= FEWEST_TOKENS)?;
    if call.ended != Ended::Done || writing < BRIEFEST {
        return None;
    }
    let tokens = u32::try_from(tokens).ok()?;
    Some(f64::from(tokens) / writing.as_secs_f64())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
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

    fn history(requests: Vec<PastRequest>) -> History {
        History { answered: requests.len() as u64, requests }
    }

    #[test]
    fn hours_with_few_calls_fall_back_on_all_hours() {
        let nine = (0..FEWEST_PER_HOUR).map(|_| request(9 * US_PER_HOUR, 800));
        let ten = (1..FEWEST_PER_HOUR).map(|_| request(10 * US_PER_HOUR, 200));
        let speeds = speeds(&history(nine.chain(ten).collect()));
        let hours: Vec<Option<u8>> = speeds.iter().map(|speed| speed.hour).collect();
        assert_eq!(hours, [None, Some(9)]);
        let at = |hour| speed_at(&speeds, "m", hour).unwrap();
        assert_eq!((at(9).first_token_ms, at(9).n), (800.0, FEWEST_PER_HOUR));
        assert_eq!((at(10).hour, at(10).n), (None, 2 * FEWEST_PER_HOUR - 1));
        assert_eq!(at(9).tokens_per_second, Some(90.0));
        assert_eq!(speed_at(&speeds, "other", 9), None);
    }

    /// Europe set its clocks back on 2025-10-26 at 01:00 UTC, so that 02:30 there came twice: 00:30 and 01:30.
    /// America's west skipped from 10:00 UTC on 2025-03-09. Hours of UTC notice neither, before 1970 neither.
    #[test]
    fn clock_changes_neither_double_nor_lose_an_hour() {
        let hour_of = |seconds: i64| hour(&request(seconds * 1_000_000, 1));
        assert_eq!((hour_of(1_761_438_600), hour_of(1_761_442_200)), (0, 1));
        assert_eq!((hour_of(1_741_512_600), hour_of(1_741_516_200)), (9, 10));
        assert_eq!((hour_of(-1), hour_of(0), hour_of(86_399)), (23, 0, 23));
    }

    #[test]
    fn a_call_that_never_showed_a_token_does_not_make_the_model_look_fast() {
        let mut requests: Vec<_> = (0..10).map(|_| request(0, 500)).collect();
        for request in requests.iter_mut().take(4) {
            request.calls[0].first_token = None;
            request.calls[0].took = Duration::from_millis(100);
            request.calls[0].ended = Ended::Cut;
        }
        let speeds = speeds(&history(requests));
        assert!((speeds[0].first_token_ms - 500.0).abs() < 1e-9, "{speeds:?}");
    }
}
