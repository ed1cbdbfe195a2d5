//! Clocks: days of the log, the order of request ids, and retention all go by them.

use std::time::{Duration, SystemTime};

use ledger::postgres::ClockOffset;
use tokio::time::Instant;

use super::check::Check;
use super::words::age;

const SYSTEM: &str = "clock.system";
const POSTGRES: &str = "clock.postgres";
const MODELS: &str = "clock.models";

/// 2026-01-01, before which nobody can have run this program, in seconds since the Unix epoch.
const EARLIEST: u64 = 1_767_225_600;
/// 2126-01-01.
const LATEST: u64 = 4_922_899_200;

/// Beyond it, rows land in the wrong hours and ids in the wrong order.
const TOLERATED: Duration = Duration::from_secs(1);

/// Coarser than this, stages of a millisecond cannot be measured.
const COARSE: Duration = Duration::from_millis(1);

const ADVICE: &str = "let the clock be set by NTP (chrony, systemd-timesyncd): days and hours of the log, the order of \
    request ids and retention go by it";

/// Another clock, seen from ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset {
    /// Positive: the other one is ahead.
    pub(super) ahead_us: i64,
    /// How far off that may be.
    pub(super) error: Duration,
}

impl From<ClockOffset> for Offset {
    fn from(clock: ClockOffset) -> Self {
        Self { ahead_us: clock.ahead_us, error: clock.error }
    }
}

pub(super) fn examine(postgres: Option<Offset>, models: Option<Offset>) -> Vec<Check> {
    let other =
        |id, whose, offset: Option<Offset>| offset.map(|offset| compared(id, whose, offset));
    let others = [other(POSTGRES, "Postgres'", postgres), other(MODELS, "the model API's", models)];
    std::iter::once(system(SystemTime::now(), resolution()))
        .chain(others.into_iter().flatten())
        .collect()
}

fn system(now: SystemTime, resolution: Duration) -> Check {
    let since_epoch = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    if !(EARLIEST..LATEST).contains(&since_epoch) {
        let detail = format!("this machine's clock is {since_epoch} s after 1970, which cannot be");
        return Check::failed(SYSTEM, detail, ADVICE);
    }
    let now = humantime::format_rfc3339_seconds(now);
    if resolution > COARSE {
        let detail = format!("it is {now}; times are measured in steps of {resolution:?}");
        let advice =
            "times of short stages are not to be trusted here; see the machine's clock source";
        return Check::warning(SYSTEM, detail, advice);
    }
    Check::ok(SYSTEM, format!("it is {now}; times are measured in steps of {resolution:?}"))
}

/// The smallest step of the clock that times are measured by.
fn resolution() -> Duration {
    let step = || {
        let before = Instant::now();
        // A clock that stands still for so many looks is as good as stopped.
        (0..1_000_000).map(|_| before.elapsed()).find(|step| !step.is_zero())
    };
    (0..20).filter_map(|_| step()).min().unwrap_or(Duration::MAX)
}

fn compared(id: &'static str, whose: &str, offset: Offset) -> Check {
    let away = Duration::from_micros(offset.ahead_us.unsigned_abs());
    let at_least = away.saturating_sub(offset.error);
    let ours = if offset.ahead_us > 0 { "behind" } else { "ahead of" };
    if at_least > TOLERATED {
        let detail = format!("this machine's clock is {} {ours} {whose}", age(away));
        return Check::warning(id, detail, ADVICE);
    }
    let (away, error) = (away.as_millis(), offset.error.as_millis().max(1));
    Check::ok(id, format!("{whose} clock is within {away} ms of ours (± {error} ms)"))
}

/// What `date` (of an HTTP reply, in whole seconds) says of a clock that was asked between `before` and now.
pub(super) fn of_date(date: &str, before: SystemTime, took: Duration) -> Option<Offset> {
    let theirs = httpdate::parse_http_date(date).ok()?;
    // Somewhere within its second, and somewhere on the way.
    let (second, half) = (Duration::from_millis(500), took / 2);
    let (theirs, ours) = (micros(theirs + second), micros(before + half));
    Some(Offset { ahead_us: theirs.saturating_sub(ours), error: second + half })
}

fn micros(at: SystemTime) -> i64 {
    let since_epoch = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_clock_from_before_this_program_cannot_be_right() {
        let fine = Duration::from_nanos(50);
        assert_eq!(system(at(0), fine).state, State::Failed);
        assert_eq!(system(at(EARLIEST - 1), fine).state, State::Failed);
        let check = system(at(EARLIEST), fine);
        assert!(check.state == State::Ok && check.detail.contains("2026-01-01T00:00:00Z"));
        assert_eq!(system(at(EARLIEST), Duration::from_millis(15)).state, State::Warning);
    }

    #[test]
    fn clocks_may_differ_by_a_second_and_by_what_cannot_be_known() {
        let state = |ahead_us, error_ms| {
            let error = Duration::from_millis(error_ms);
            compared(POSTGRES, "Postgres'", Offset { ahead_us, error }).state
        };
        assert_eq!(state(999_000, 0), State::Ok);
        assert_eq!(state(-1_400_000, 500), State::Ok);
        assert_eq!(state(-1_600_000, 500), State::Warning);
        assert_eq!(state(i64::MIN, 0), State::Warning);
        let behind =
            compared(POSTGRES, "Postgres'", Offset { ahead_us: 90_000_000, error: TOLERATED });
        assert_eq!(behind.detail, "this machine's clock is 1min 30s behind Postgres'");
    }

    #[test]
    fn a_date_is_read_as_somewhere_within_its_second() {
        let date = "Thu, 01 Jan 2026 00:00:10 GMT";
        let offset = of_date(date, at(EARLIEST + 10), Duration::from_millis(200)).unwrap();
        assert_eq!((offset.ahead_us, offset.error.as_millis()), (400_000, 600));
        assert_eq!(of_date("yesterday", at(EARLIEST), Duration::ZERO), None);
    }
}
