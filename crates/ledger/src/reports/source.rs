//! [`Source`]: where a report is read from.

use std::time::Duration;

use deadline::Deadline;
use sqlx::postgres::{PgPool, PgPoolOptions, PgRow};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Decode, Row, Type};

use super::catalog::{Kind, Report};
use super::{Cell, Scope, Table};
use crate::{LedgerError, PgError, PgSettings, Store};

/// How long a report may take.
const READ: Duration = Duration::from_secs(60);

/// Reports that run at once; one more waits.
const CONNECTIONS: u32 = 2;

/// A database that holds a latency log.
#[derive(Clone, Debug)]
pub enum Source {
    Sqlite(Store),
    Postgres(PgPool),
}

impl Source {
    /// The log in Postgres. Connects when first asked for a report.
    #[must_use]
    pub fn postgres(settings: &PgSettings) -> Self {
        let options = settings.options.clone().options([("statement_timeout", "60s")]);
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(Duration::from_secs(10))
            .connect_lazy_with(options);
        Self::Postgres(pool)
    }

    /// Closes its connections.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

pub(super) async fn sqlite(
    store: &Store,
    report: &Report,
    since_us: i64,
    scope: Scope<'_>,
) -> Result<Table, LedgerError> {
    let query = sqlx::query(report.sqlite).bind(since_us).bind(scope.app).bind(scope.per);
    let rows = query.fetch_all(store.pool()).await.map_err(LedgerError::Read)?;
    table(report, &rows, sqlite_cell).map_err(LedgerError::Read)
}

pub(super) async fn postgres(
    pool: &PgPool,
    report: &Report,
    since_us: i64,
    scope: Scope<'_>,
) -> Result<Table, PgError> {
    // Names of reports and columns are ours.
    let sql = AssertSqlSafe(postgres_query(report));
    let mut query = sqlx::query(sql).bind(since_us).bind(scope.app);
    if !report.per.is_empty() {
        query = query.bind(scope.per);
    }
    let rows = Deadline::after(READ).run(query.fetch_all(pool)).await;
    let rows = rows.map_err(|_out_of_time| PgError::TimedOut)?.map_err(PgError::Read)?;
    table(report, &rows, postgres_cell).map_err(PgError::Read)
}

/// The call of the report's function, its columns as types that every driver reads.
fn postgres_query(report: &Report) -> String {
    let columns: Vec<String> = report
        .columns
        .iter()
        .map(|(column, kind)| match kind {
            Kind::Moment => {
                format!(r#"to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS {column}"#)
            }
            Kind::Text | Kind::Count | Kind::Number | Kind::Flag => (*column).to_owned(),
        })
        .collect();
    let per = if report.per.is_empty() { "" } else { ", $3" };
    format!("SELECT {} FROM report.{}(ledger_moment($1), $2{per})", columns.join(", "), report.name)
}

fn table<R>(
    report: &Report,
    rows: &[R],
    cell: impl Fn(&R, usize, Kind) -> Result<Cell, sqlx::Error>,
) -> Result<Table, sqlx::Error> {
    let read = |row: &R| {
        let cells = report.columns.iter().enumerate();
        cells.map(|(at, (_, kind))| cell(row, at, *kind)).collect::<Result<Vec<Cell>, _>>()
    };
    Ok(Table {
        columns: report.columns.iter().map(|(column, _)| *column).collect(),
        rows: rows.iter().map(read).collect::<Result<_, _>>()?,
    })
}

fn sqlite_cell(row: &SqliteRow, at: usize, kind: Kind) -> Result<Cell, sqlx::Error> {
    typed_cell::<SqliteRow>(row, at, kind)
}

fn postgres_cell(row: &PgRow, at: usize, kind: Kind) -> Result<Cell, sqlx::Error> {
    typed_cell::<PgRow>(row, at, kind)
}

/// What a column of `kind` holds in `row`.
fn typed_cell<R: Row>(row: &R, at: usize, kind: Kind) -> Result<Cell, sqlx::Error>
where
    usize: sqlx::ColumnIndex<R>,
    for<'r> bool: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> i64: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> f64: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> String: Decode<'r, R::Database> + Type<R::Database>,
{
    let cell = match kind {
        Kind::Text | Kind::Moment => row.try_get::<Option<String>, _>(at)?.map(Cell::Text),
        Kind::Count => row.try_get::<Option<i64>, _>(at)?.map(Cell::Count),
        Kind::Number => row.try_get::<Option<f64>, _>(at)?.map(Cell::Number),
        Kind::Flag => row.try_get::<Option<bool>, _>(at)?.map(Cell::Flag),
    };
    Ok(cell.unwrap_or(Cell::Nothing))
}
