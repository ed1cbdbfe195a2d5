//! Calibrating once a day, where that is wanted.

use std::convert::Infallible;
use std::future::pending;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::AppName;
use ledger::calibration::Window;
use ledger::reports::Source;
use tokio::time::sleep;

use super::{USUAL_WINDOW, apply, apps, propose, window};
use crate::config::Config;

/// How often the clock is looked at: one that is set forward or back is noticed.
const LOOK: Duration = Duration::from_secs(20);

/// Several servers have the same schedule; the first one in this time does it.
const ONCE_IN: Duration = Duration::from_secs(12 * 3600);

const BY: &str = "schedule";

const DAY: u64 = 86_400;

/// Calibrates every app at the configured time of each UTC day, for as long as the server runs.
pub(crate) async fn keep_calibrated(config: &Config, source: &Source) -> Infallible {
    let Some(daily_at) = config.calibration.daily_at else { return pending().await };
    let mut looked = SystemTime::now();
    loop {
        sleep(LOOK).await;
        let now = SystemTime::now();
        if is_due(daily_at, looked, now) {
            calibrate_all(config, source).await;
        }
        looked = now;
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

async fn calibrate_all(config: &Config, source: &Source) {
    let window = window(USUAL_WINDOW);
    let apps = match apps(source, window).await {
        Ok(apps) => apps,
        Err(error) => {
            tracing::warn!(error = %format!("{error:#}"), "cannot calibrate");
            return;
        }
    };
    for app in apps {
        match calibrate(config, source, &app, window).await {
            Ok(Some(number)) => tracing::info!(%app, calibration = number, "calibrated"),
            Ok(None) => tracing::debug!(%app, "another server has calibrated"),
            Err(error) => tracing::warn!(%app, error = %format!("{error:#}"), "not calibrated"),
        }
    }
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
