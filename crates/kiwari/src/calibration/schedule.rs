//! Calibrating once a day, where that is wanted.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::pending;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::AppName;
use ledger::calibration::Window;
use ledger::reports::Source;
use tokio::time::sleep;

use super::{Refusal, USUAL_WINDOW, apply, apps, propose, window};
use crate::config::Config;

/// How often the clock is looked at: one that is set forward or back is noticed.
const LOOK: Duration = Duration::from_secs(20);

/// When the database is away just then, or a server was being restarted, it is done within this time after all.
const LATE: Duration = Duration::from_secs(3600);
/// How often it is tried meanwhile.
const AGAIN: Duration = Duration::from_secs(300);
const ATTEMPTS: u32 = 13;

/// Several servers have the same schedule; the first one in this time does it.
const ONCE_IN: Duration = Duration::from_secs(12 * 3600);

const BY: &str = "schedule";

const DAY: u64 = 86_400;

/// Calibrates every app at the configured time of each UTC day, for as long as the server runs.
pub(crate) async fn keep_calibrated(config: &Config, source: &Source) -> Infallible {
    let Some(daily_at) = config.calibration.daily_at else { return pending().await };
    let now = SystemTime::now();
    let mut looked = now.checked_sub(LATE).unwrap_or(now);
    loop {
        sleep(LOOK).await;
        let now = SystemTime::now();
        if is_due(daily_at, looked, now) {
            let mut done = BTreeSet::new();
            insist(AGAIN, async || calibrate_all(config, source, &mut done).await).await;
        }
        looked = now;
    }
}

/// Makes `attempt`s, `pause` apart, until one gets done or it is too late.
async fn insist(pause: Duration, mut attempt: impl AsyncFnMut() -> bool) {
    for _ in 1..ATTEMPTS {
        if attempt().await {
            return;
        }
        sleep(pause).await;
    }
    if !attempt().await {
        tracing::warn!("calibrating is given up for today");
    }
}

/// Whether the time of day `daily_at` has come between `looked` and `now`.
fn is_due(daily_at: Duration, looked: SystemTime, now: SystemTime) -> bool {
    let day = |moment: SystemTime| {
        let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        (since + Duration::from_secs(DAY)).saturating_sub(daily_at).as_secs() / DAY
    };
    day(looked) < day(now)
}

/// Calibrates every app that is not among those `done`; whether all of them are, then.
async fn calibrate_all(config: &Config, source: &Source, done: &mut BTreeSet<AppName>) -> bool {
    let window = window(USUAL_WINDOW);
    let apps = match apps(source, window).await {
        Ok(apps) => apps,
        Err(error) => {
            tracing::warn!(error = %format!("{error:#}"), "cannot calibrate for now");
            return false;
        }
    };
    let mut is_all = true;
    for app in apps {
        if done.contains(&app) {
            continue;
        }
        match calibrate(config, source, &app, window).await {
            Ok(Some(number)) => tracing::info!(%app, calibration = number, "calibrated"),
            Ok(None) => tracing::debug!(%app, "another server has calibrated"),
            // There will be no more answers in the log in five minutes.
            Err(error) if error.is::<Refusal>() => {
                tracing::warn!(%app, error = %format!("{error:#}"), "not calibrated");
            }
            Err(error) => {
                tracing::warn!(%app, error = %format!("{error:#}"), "not calibrated for now");
                is_all = false;
                continue;
            }
        }
        done.insert(app);
    }
    is_all
}

async fn calibrate(
    config: &Config,
    source: &Source,
    app: &AppName,
    window: Window,
) -> anyhow::Result<Option<u64>> {
    let proposal = propose(config, source, app, window).await??;
    apply(source, window, &proposal, BY, window.to.checked_sub(ONCE_IN)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hour: u64, minute: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(20_000 * DAY + hour * 3600 + minute * 60)
    }

    /// How often it is tried when the database comes back at the try of that number.
    async fn tries(back_at: u32) -> u32 {
        let mut tries = 0;
        let attempt = async || {
            tries += 1;
            tries == back_at
        };
        insist(Duration::ZERO, attempt).await;
        tries
    }

    #[tokio::test]
    async fn a_database_that_is_away_is_asked_again_for_an_hour() {
        assert_eq!([tries(1).await, tries(3).await, tries(u32::MAX).await], [1, 3, ATTEMPTS]);
        assert_eq!(AGAIN * (ATTEMPTS - 1), LATE);
    }

    #[test]
    fn a_restart_at_that_minute_is_caught_up_with() {
        let daily_at = Duration::from_secs(3 * 3600 + 30 * 60);
        assert!(is_due(daily_at, at(3, 35) - LATE, at(3, 35)));
        assert!(!is_due(daily_at, at(4, 31) - LATE, at(4, 31)));
    }

    #[test]
    fn it_is_due_once_a_day_whatever_the_clock_does() {
        let daily_at = Duration::from_secs(3 * 3600 + 30 * 60);
        assert!(is_due(daily_at, at(3, 29), at(3, 30)));
        assert!(!is_due(daily_at, at(3, 30), at(3, 31)));
        assert!(!is_due(daily_at, at(0, 0), at(3, 29)));
        // Set forward over it, and back again.
        assert!(is_due(daily_at, at(3, 0), at(9, 0)));
        assert!(!is_due(daily_at, at(9, 0), at(2, 0)));
        assert!(is_due(daily_at, at(23, 59), at(27, 30)));
        assert!(is_due(Duration::ZERO, at(23, 59), at(24, 0)));
    }
}
