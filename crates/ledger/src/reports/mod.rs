//! Reports over the latency log, under the same names and with the same columns from SQLite and Postgres.
//!
//! In Postgres each is a view and a function in schema `report`; for SQLite the queries are here. Percentiles
//! are nearest rank: the least value with at least that share at or below it. Hours and days are UTC's.

mod catalog;
mod source;
mod table;

use std::time::{Duration, SystemTime};

use deadline::Deadline;
use thiserror::Error;

pub use catalog::{NAMES, about, periods};
pub use source::Source;
pub use table::{Cell, Table};

use crate::entry::unix_micros;
use crate::{LedgerError, PgError};
use catalog::Report;

/// Which requests a report is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope<'a> {
    /// Those received at this moment or later.
    pub since: SystemTime,
    /// Those of one app, if given.
    pub app: Option<&'a str>,
    /// Only the rows per `hour`, `day` or `window`, in the reports that have several of these.
    pub per: Option<&'a str>,
}

/// What one report may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub time: Duration,
    pub rows: usize,
}

impl Bounds {
    /// For somebody who waits at a terminal, and stops it when they have had enough.
    pub const PATIENT: Self = Self { time: Duration::from_secs(600), rows: usize::MAX };
}

/// A report that cannot be given.
#[derive(Debug, Error)]
pub enum ReportError {
    #[error("there is no report {name:?}; there are {}", NAMES.join(", "))]
    Unknown { name: String },
    #[error("the report {report} has no rows per {per:?}{}", has(.possible))]
    Per { report: &'static str, per: String, possible: &'static [&'static str] },
    #[error("the report takes longer than {} s", time.as_secs())]
    OutOfTime { time: Duration },
    #[error("the report has more than {rows} rows")]
    TooLong { rows: usize },
    #[error("cannot read the report from Postgres")]
    Postgres(#[from] PgError),
    #[error("cannot read the report from the latency log")]
    Sqlite(#[from] LedgerError),
}

/// `; it has hour, day and window`.
fn has(possible: &[&str]) -> String {
    if possible.is_empty() { String::new() } else { format!("; it has {}", possible.join(", ")) }
}

/// The report called `name` over `scope`.
///
/// # Errors
///
/// [`ReportError`]; an unknown name is answered with the known ones.
pub async fn run(source: &Source, name: &str, scope: Scope<'_>) -> Result<Table, ReportError> {
    run_within(source, name, scope, Bounds::PATIENT).await
}

/// The same, if it takes no more than `bounds`.
///
/// # Errors
///
/// As of [`run`]; [`ReportError::OutOfTime`] and [`ReportError::TooLong`].
///
/// # Cancel safety
///
/// Dropping it ends the query: in SQLite within milliseconds, in Postgres by the end of its time.
pub async fn run_within(
    source: &Source,
    name: &str,
    scope: Scope<'_>,
    bounds: Bounds,
) -> Result<Table, ReportError> {
    let report = Report::named(name)?;
    if let Some(per) = scope.per {
        report.check_per(per)?;
    }
    let since_us = unix_micros(scope.since);
    let reading = source::read(source, report, since_us, scope, bounds);
    let read = Deadline::after(bounds.time).run(reading).await;
    let table = read.unwrap_or(Err(ReportError::OutOfTime { time: bounds.time }))?;
    if table.rows.len() > bounds.rows {
        return Err(ReportError::TooLong { rows: bounds.rows });
    }
    Ok(table)
}
