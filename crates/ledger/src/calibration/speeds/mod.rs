//! How fast models write, by hour of day.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Ended, History, PastCall, PastRequest, Sample, Survival};
use crate::entry::unix_micros;

/// With fewer calls than this, an hour says nothing of itself, and all hours nothing of the model.
pub const FEWEST_CALLS: usize = 30;

/// Texts shorter or faster than this do not tell a pace.
const FEWEST_TOKENS: u64 = 16;
const BRIEFEST: Duration = Duration::from_millis(50);

/// What the log's times are counted in; nothing takes less.
const LEAST_FIRST_TOKEN_MS: f64 = 0.001;
/// A token a second is below what anybody would wait for, and five thousand are beyond what any hardware writes.
const PACES: RangeInclusive<f64> = 1.0..=5000.0;

const US_PER_HOUR: i64 = 3_600_000_000;
/// Hours of a day.
pub const HOURS: u8 = 24;

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
    /// It took at least that: too many calls were dropped before one to say more.
    #[serde(default)]
    pub is_lower_bound: bool,
    /// From then on; `None` where too few texts were long enough to tell.
    pub tokens_per_second: Option<f64>,
}

/// A speed that no model can have had.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum WrongSpeed {
    #[error("{model} has a speed at hour {hour}; hours are 0 to 23")]
    Hour { model: String, hour: u8 },
    #[error(
        "the first token of {model} takes {ms} ms; it must take more than none, and {most} at most"
    )]
    FirstToken { model: String, ms: f64, most: u64 },
    #[error("{model} writes {pace} tokens/s; it must be 1 to 5000")]
    Pace { model: String, pace: f64 },
}

/// The speeds of every model: over all hours, however few its calls, and for each hour that has enough.
#[must_use]
pub fn speeds(history: &History) -> Vec<Speed> {
    let mut calls: BTreeMap<&str, BTreeMap<u8, Vec<&PastCall>>> = BTreeMap::new();
    for request in &history.requests {
        for call in request.calls.iter().filter(|call| tells(call)) {
            calls.entry(&call.model).or_default().entry(request.hour()).or_default().push(call);
        }
    }
    let mut speeds = Vec::new();
    for (model, by_hour) in calls {
        let all: Vec<&PastCall> = by_hour.values().flatten().copied().collect();
        speeds.extend(speed(model, None, &all));
        let enough = by_hour.iter().filter(|(_, calls)| calls.len() >= FEWEST_CALLS);
        speeds.extend(enough.filter_map(|(hour, calls)| speed(model, Some(*hour), calls)));
    }
    speeds
}

/// The speed of `model` at `hour`, or over all hours where that hour says nothing of itself, or nothing of its pace;
/// `None` where there are too few calls of it altogether.
#[must_use]
pub fn speed_at(speeds: &[Speed], model: &str, hour: u8) -> Option<Speed> {
    let enough = || speeds.iter().filter(|speed| speed.model == model && speed.has_enough());
    let of = |hour| enough().find(|speed| speed.hour == hour);
    let (own, all) = (of(Some(hour)), of(None));
    let speed = own.or(all)?;
    let pace = speed.tokens_per_second.or(all.and_then(|all| all.tokens_per_second));
    Some(Speed { tokens_per_second: pace, ..speed.clone() })
}

/// The hour of the UTC day at a moment of the wall clock, the same as the log has for a request received then.
#[must_use]
pub fn hour_of(moment: SystemTime) -> u8 {
    hour(unix_micros(moment))
}

impl Speed {
    /// Whether it rests on so many calls that it is used.
    #[must_use]
    pub fn has_enough(&self) -> bool {
        self.n >= FEWEST_CALLS
    }

    /// Whether a model can have been as fast with budgets of `total_ms`.
    ///
    /// # Errors
    ///
    /// What cannot be.
    pub fn check(&self, total_ms: u64) -> Result<(), WrongSpeed> {
        let (model, ms) = (self.model.clone(), self.first_token_ms);
        let total = Duration::from_millis(total_ms).as_secs_f64() * 1000.0;
        match (self.hour, self.tokens_per_second) {
            (Some(hour @ HOURS..), _) => Err(WrongSpeed::Hour { model, hour }),
            _ if !(LEAST_FIRST_TOKEN_MS..=total).contains(&ms) => {
                Err(WrongSpeed::FirstToken { model, ms, most: total_ms })
            }
            (_, Some(pace)) if !PACES.contains(&pace) => Err(WrongSpeed::Pace { model, pace }),
            _ => Ok(()),
        }
    }
}

impl PastRequest {
    /// The hour of the UTC day at which it was received.
    #[must_use]
    pub fn hour(&self) -> u8 {
        hour(self.received_at_us)
    }
}

/// Local clocks are set forward and back, UTC's never is.
fn hour(unix_us: i64) -> u8 {
    let hour = unix_us.div_euclid(US_PER_HOUR).rem_euclid(i64::from(HOURS));
    u8::try_from(hour).unwrap_or_default()
}

/// A call that failed before its first token does not tell when that would have come.
fn tells(call: &PastCall) -> bool {
    call.ended != Ended::Failed || call.first_token.is_some()
}

fn speed(model: &str, hour: Option<u8>, calls: &[&PastCall]) -> Option<Speed> {
    // A call without a first token would have had it later.
    let first_token = Survival::of(calls.iter().map(|call| Sample {
        took: call.first_token.unwrap_or(call.took),
        is_cut: call.first_token.is_none(),
    }))?;
    let first_token = first_token.quantile(0.5);
    Some(Speed {
        model: model.to_owned(),
        hour,
        n: calls.len(),
        first_token_ms: first_token.ms.max(LEAST_FIRST_TOKEN_MS),
        is_lower_bound: first_token.is_lower_bound,
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
    Some((f64::from(tokens) / writing.as_secs_f64()).clamp(*PACES.start(), *PACES.end()))
}

/// `None` of too few.
fn median(mut values: Vec<f64>) -> Option<f64> {
    if values.len() < FEWEST_CALLS {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests;
