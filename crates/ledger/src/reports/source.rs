//! [`Source`]: where a report is read from.

use std::time::Duration;

use deadline::CancelFlag;
use futures_util::{Stream, StreamExt, TryStreamExt};
use sqlx::postgres::{PgPool, PgPoolOptions, PgRow};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Connection, Decode, Row, Type};

use super::catalog::{Kind, Report};
use super::{Bounds, Cell, ReportError, Scope, Table};
use crate::{LedgerError, PgError, PgSettings, Store};

/// Instructions of SQLite's machine between two looks at whether anybody still waits: well under a millisecond.
const INSTRUCTIONS: i32 = 10_000;

/// Reports that run at once; one more waits.
const CONNECTIONS: u32 = 2;

/// How long a connection may take to be had, and with the one before in use to be free.
const CONNECT: Duration = Duration::from_secs(3);

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
            .acquire_timeout(CONNECT)
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

/// Reads `report`, and one row more than `bounds` allow if there is one.
pub(super) async fn read(
    source: &Source,
    report: &Report,
    since_us: i64,
    scope: Scope<'_>,
    bounds: Bounds,
) -> Result<Table, ReportError> {
    match source {
        Source::Sqlite(store) => Ok(sqlite(store, report, since_us, scope, bounds).await?),
        Source::Postgres(pool) => postgres(pool, report, since_us, scope, bounds).await,
    }
}

/// Raises its flag when nobody waits any more.
struct RaiseOnDrop(CancelFlag);

impl Drop for RaiseOnDrop {
    fn drop(&mut self) {
        self.0.raise();
    }
}

async fn sqlite(
    store: &Store,
    report: &Report,
    since_us: i64,
    scope: Scope<'_>,
    bounds: Bounds,
) -> Result<Table, LedgerError> {
    let mut connection = store.reader().await?;
    let flag = CancelFlag::default();
    let _raised_at_the_end = RaiseOnDrop(flag.clone());
    let mut handle = connection.lock_handle().await.map_err(LedgerError::Read)?;
    handle.set_progress_handler(INSTRUCTIONS, move || !flag.is_raised());
    drop(handle);
    let query = sqlx::query(report.sqlite).bind(since_us).bind(scope.app).bind(scope.per);
    let rows = up_to(bounds.rows, query.fetch(&mut connection)).await;
    let rows = rows.map_err(LedgerError::Read)?;
    table(report, &rows, sqlite_cell).map_err(LedgerError::Read)
}

async fn postgres(
    pool: &PgPool,
    report: &Report,
    since_us: i64,
    scope: Scope<'_>,
    bounds: Bounds,
) -> Result<Table, ReportError> {
    let reading = read_postgres(pool, report, since_us, scope, bounds);
    let rows = reading.await.map_err(|error| failed(error, bounds))?;
    table(report, &rows, postgres_cell).map_err(|error| PgError::Read(error).into())
}

async fn read_postgres(
    pool: &PgPool,
    report: &Report,
    since_us: i64,
    scope: Scope<'_>,
    bounds: Bounds,
) -> Result<Vec<PgRow>, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    // Ends with the transaction, which changes nothing.
    let mut transaction = connection.begin().await?;
    sqlx::query("SELECT set_config('statement_timeout', $1, true)")
        .bind(bounds.time.as_millis().to_string())
        .execute(&mut *transaction)
        .await?;
    // Names of reports and columns are ours.
    let sql = AssertSqlSafe(postgres_query(report));
    let mut query = sqlx::query(sql).bind(since_us).bind(scope.app);
    if !report.per.is_empty() {
        query = query.bind(scope.per);
    }
    let rows = up_to(bounds.rows, query.fetch(&mut *transaction)).await?;
    transaction.rollback().await?;
    Ok(rows)
}

/// A statement that the server has cancelled was out of time.
fn failed(error: sqlx::Error, bounds: Bounds) -> ReportError {
    let code = error.as_database_error().and_then(|error| error.code());
    if code.as_deref() == Some("57014") {
        return ReportError::OutOfTime { time: bounds.time };
    }
    PgError::Read(error).into()
}

/// So many rows, and one more if there is one.
async fn up_to<R>(
    most: usize,
    rows: impl Stream<Item = Result<R, sqlx::Error>>,
) -> Result<Vec<R>, sqlx::Error> {
    rows.take(most.saturating_add(1)).try_collect().await
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
