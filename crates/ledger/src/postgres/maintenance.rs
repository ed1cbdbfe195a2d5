//! Partitions ahead of time, retention, and the histograms of closed hours and days.

use std::time::Duration;

use sqlx::postgres::PgConnection;

use super::look::{ClockOffset, clock};
use super::session::bounded;
use super::{PgError, PgSettings, Session};

/// Days whose partitions are made ahead.
const DAYS_AHEAD: i32 = 3;

/// Hours counted in one go; shipping goes on in between.
const HOURS_AT_ONCE: i64 = 48;

/// How long an hour stays open after its end, for rows on their way.
const LATE: &str = "5 minutes";

const STEP: Duration = Duration::from_secs(60);

/// How far the server's clock may be from ours. What it dropped with a wrong one would not come back.
const CLOCKS_APART: Duration = Duration::from_secs(3600);

/// What maintenance did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maintained {
    /// Everything there was to do, or another server is at it.
    Done,
    /// There are more hours to count.
    Unfinished,
    /// Nothing: the server's clock and ours are too far apart to say which days are old.
    ClocksDiffer(ClockOffset),
}

const TRY_LOCK: &str = "SELECT pg_try_advisory_lock(1802073953, 2)";
const UNLOCK: &str = "SELECT pg_advisory_unlock(1802073953, 2)";
const MAKE_AHEAD: &str = "
    SELECT count(ledger_make_day((now() AT TIME ZONE 'UTC')::date + ahead))
    FROM generate_series(0, $1) AS ahead";
const DROP_OLD: &str = "
    SELECT ledger_drop_days(today - $1, today - $2)
    FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS today) AS now";
const OPEN_HOURS: &str = "
    SELECT (extract(epoch FROM hour) / 3600)::bigint
    FROM ledger_open_hours(now() - $1::interval) AS hour LIMIT $2";
const ROLL: &str = "SELECT ledger_roll_hour(to_timestamp($1 * 3600::bigint))";
const OPEN_DAYS: &str =
    "SELECT (extract(epoch FROM day) / 86400)::bigint FROM ledger_open_days() AS day LIMIT $1";
const ROLL_DAY: &str = "SELECT ledger_roll_day(to_timestamp($1 * 86400::bigint))";

/// Does what is due. One server at a time; the others find it done.
///
/// # Errors
///
/// [`PgError::Maintain`], [`PgError::TimedOut`]; what was done stays done.
pub(crate) async fn maintain(
    session: &mut Session,
    settings: &PgSettings,
) -> Result<Maintained, PgError> {
    let connection = &mut session.0;
    if !step(sqlx::query_scalar(TRY_LOCK).fetch_one(&mut *connection)).await? {
        return Ok(Maintained::Done);
    }
    let maintained = hold(connection, settings).await;
    // A connection in trouble is dropped by the caller, and its lock with it.
    let _unlocked: bool = step(sqlx::query_scalar(UNLOCK).fetch_one(connection)).await?;
    maintained
}

async fn hold(connection: &mut PgConnection, settings: &PgSettings) -> Result<Maintained, PgError> {
    let clock = clock(connection).await?;
    if clock.exceeds(CLOCKS_APART) {
        return Ok(Maintained::ClocksDiffer(clock));
    }
    step(sqlx::query(MAKE_AHEAD).bind(DAYS_AHEAD).execute(&mut *connection)).await?;
    let days = (i32::from(settings.retention_days), i32::from(settings.histogram_days));
    let drop = sqlx::query(DROP_OLD).bind(days.0).bind(days.1.max(days.0));
    step(drop.execute(&mut *connection)).await?;
    let hours = sqlx::query_scalar(OPEN_HOURS).bind(LATE).bind(HOURS_AT_ONCE);
    let hours: Vec<i64> = step(hours.fetch_all(&mut *connection)).await?;
    for hour in &hours {
        step(sqlx::query(ROLL).bind(hour).execute(&mut *connection)).await?;
    }
    let days = sqlx::query_scalar(OPEN_DAYS).bind(HOURS_AT_ONCE);
    let days: Vec<i64> = step(days.fetch_all(&mut *connection)).await?;
    for day in days {
        step(sqlx::query(ROLL_DAY).bind(day).execute(&mut *connection)).await?;
    }
    let is_done = hours.len() < usize::try_from(HOURS_AT_ONCE).unwrap_or(usize::MAX);
    Ok(if is_done { Maintained::Done } else { Maintained::Unfinished })
}

async fn step<T>(work: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, PgError> {
    bounded(STEP, work).await?.map_err(PgError::Maintain)
}
