//! Calibrations that have been applied.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::history::in_time;
use super::{CalibrationError, Speed, Window};
use crate::LedgerError;
use crate::entry::unix_micros;
use crate::reports::Source;

/// What is calibrated. Times are milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Values {
    /// The budget that they were made for.
    pub total_ms: u64,
    pub minimums: CalibratedMinimums,
    pub retrieval_cutoff_ms: u64,
    /// Zero: a first token is waited for to the end.
    pub first_token_cutoff_ms: u64,
    /// How fast each model wrote, by hour of day.
    #[serde(default)]
    pub speeds: Vec<Speed>,
}

/// The stages' minimums in milliseconds; `None` leaves a stage as it is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalibratedMinimums {
    pub embed_ms: Option<u64>,
    pub vector_ms: Option<u64>,
    pub generate_ms: Option<u64>,
}

/// A calibration to be applied.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    pub app: &'a str,
    pub window: Window,
    pub values: &'a Values,
    /// Who applies it.
    pub by: &'a str,
    /// Only if nobody of the same name has applied one of the app's since then.
    pub unless_since: Option<SystemTime>,
}

/// A calibration, as it lies in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// From 1.
    pub number: u64,
    pub app: String,
    /// JSON that may be [`Values`].
    pub calibrated: String,
}

const SQLITE_APPLY: &str = "
    INSERT INTO calibration (app, created_at_us, created_by, window_from_us, window_to_us, calibrated)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6
    WHERE ?7 IS NULL
        OR NOT EXISTS (SELECT 1 FROM calibration WHERE app = ?1 AND created_by = ?3 AND created_at_us >= ?7)
    RETURNING number";
const POSTGRES_APPLY: &str = "
    INSERT INTO calibration (app, created_at, created_by, window_from, window_to, calibrated)
    SELECT $1, ledger_moment($2), $3, ledger_moment($4), ledger_moment($5), $6::text::jsonb
    WHERE $7::bigint IS NULL
        OR NOT EXISTS (SELECT FROM calibration
                       WHERE app = $1 AND created_by = $3 AND created_at >= ledger_moment($7))
    RETURNING number";

/// Calibrations of one app that are looked at: where the newest cannot be used, the one before it may be.
const FEW: i64 = 5;

const SQLITE_NEWEST: &str = "
    SELECT number, app, calibrated FROM (
        SELECT number, app, calibrated, row_number() OVER (PARTITION BY app ORDER BY number DESC) AS age
        FROM calibration)
    WHERE age <= ?1 ORDER BY number DESC";
const POSTGRES_NEWEST: &str = "
    SELECT number, app, calibrated FROM (
        SELECT number, app, calibrated::text, row_number() OVER (PARTITION BY app ORDER BY number DESC) AS age
        FROM calibration) AS aged
    WHERE age <= $1 ORDER BY number DESC";

/// Applies a calibration and gives its number; `None` if somebody was there before.
///
/// # Errors
///
/// [`CalibrationError`].
pub async fn apply(source: &Source, new: New<'_>) -> Result<Option<u64>, CalibrationError> {
    let now = unix_micros(SystemTime::now());
    let window = (unix_micros(new.window.from), unix_micros(new.window.to));
    let since = new.unless_since.map(unix_micros);
    let values = serde_json::to_string(new.values).expect("numbers and strings always serialise");
    let number: Option<i64> = match source {
        Source::Sqlite(store) => {
            let query = sqlx::query_scalar(SQLITE_APPLY).bind(new.app).bind(now).bind(new.by);
            let query = query.bind(window.0).bind(window.1).bind(&values).bind(since);
            query.fetch_optional(store.pool()).await.map_err(LedgerError::Write)?
        }
        Source::Postgres(pool) => {
            let query = sqlx::query_scalar(POSTGRES_APPLY).bind(new.app).bind(now).bind(new.by);
            let query = query.bind(window.0).bind(window.1).bind(&values).bind(since);
            in_time(query.fetch_optional(pool)).await?
        }
    };
    Ok(number.and_then(|number| u64::try_from(number).ok()))
}

/// The newest few calibrations of every app, newest first.
///
/// # Errors
///
/// [`CalibrationError`].
pub async fn newest(source: &Source) -> Result<Vec<Applied>, CalibrationError> {
    let rows: Vec<(i64, String, String)> = match source {
        Source::Sqlite(store) => {
            let query = sqlx::query_as(SQLITE_NEWEST).bind(FEW);
            query.fetch_all(store.pool()).await.map_err(LedgerError::Read)?
        }
        Source::Postgres(pool) => {
            in_time(sqlx::query_as(POSTGRES_NEWEST).bind(FEW).fetch_all(pool)).await?
        }
    };
    let applied = |(number, app, calibrated)| {
        Some(Applied { number: u64::try_from(number).ok()?, app, calibrated })
    };
    Ok(rows.into_iter().filter_map(applied).collect())
}
