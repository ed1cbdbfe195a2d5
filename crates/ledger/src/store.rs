//! [`Store`]: the SQLite file behind the log.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use thiserror::Error;

use crate::Entry;
use crate::entry::{micros, millis};

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite/ledger");

/// How long one statement waits for another process's lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// The latency log on disk.
#[derive(Clone, Debug)]
pub struct Store {
    pool: SqlitePool,
}

/// A log that cannot be used.
#[derive(Debug, Error)]
pub enum LedgerError {
    #[error("cannot open the latency log {}", path.display())]
    Open { path: PathBuf, source: sqlx::Error },
    #[error("cannot bring the latency log {} up to date", path.display())]
    Migrate { path: PathBuf, source: MigrateError },
    #[error("cannot write to the latency log")]
    Write(#[source] sqlx::Error),
    #[error("cannot read from the latency log")]
    Read(#[source] sqlx::Error),
}

impl Store {
    /// Opens the log at `path`, making and migrating it as needed.
    ///
    /// # Errors
    ///
    /// [`LedgerError`] naming the file.
    pub async fn open(path: &Path) -> Result<Self, LedgerError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .foreign_keys(true)
            .journal_mode(SqliteJournalMode::Wal)
            // With WAL, NORMAL survives a killed process; a power cut may cost the last moments' rows.
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(LOCK_PATIENCE);
        let pool = SqlitePoolOptions::new()
            .max_connections(2)
            .connect_with(options)
            .await
            .map_err(|source| LedgerError::Open { path: path.to_owned(), source })?;
        MIGRATIONS
            .run(&pool)
            .await
            .map_err(|source| LedgerError::Migrate { path: path.to_owned(), source })?;
        Ok(Self { pool })
    }

    pub(crate) fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    /// Writes `entries` in one transaction: all of them or none. An entry that is there already is left
    /// as it is, so that a batch can be tried again.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Write`]; nothing was written.
    pub async fn write(&self, entries: &[Entry]) -> Result<(), LedgerError> {
        self.write_inner(entries).await.map_err(LedgerError::Write)
    }

    async fn write_inner(&self, entries: &[Entry]) -> Result<(), sqlx::Error> {
        let mut transaction = self.pool.begin().await?;
        for entry in entries {
            insert_request(&mut transaction, entry).await?;
            insert_stages(&mut transaction, entry).await?;
        }
        transaction.commit().await
    }

    /// Removes the requests received before `before`, with their stages.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Write`].
    pub async fn prune(&self, before: SystemTime) -> Result<(), LedgerError> {
        sqlx::query("DELETE FROM request_log WHERE received_at_us < ?")
            .bind(before.duration_since(UNIX_EPOCH).map_or(0, micros))
            .execute(&self.pool)
            .await
            .map_err(LedgerError::Write)?;
        Ok(())
    }

    /// Closes the file; the write-ahead log is folded into it.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

async fn insert_request(
    connection: &mut sqlx::SqliteConnection,
    entry: &Entry,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO request_log (request_id, client_request_id, endpoint, app, lang, received_at_us,
             budget_requested_ms, budget_total_ms, spent_us, kind, degraded, reasons, generation,
             calibration, trace)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING",
    )
    .bind(entry.request_id.to_string())
    .bind(entry.client_request_id.as_deref())
    .bind(entry.endpoint)
    .bind(entry.app.as_str())
    .bind(entry.lang.as_str())
    .bind(entry.received_at_us())
    .bind(entry.budget_requested.map(millis))
    .bind(millis(entry.budget_total))
    .bind(micros(entry.spent))
    .bind(entry.kind)
    .bind(entry.degraded)
    .bind(entry.reasons_json())
    .bind(i64::try_from(entry.generation).unwrap_or(i64::MAX))
    .bind(i64::try_from(entry.calibration).unwrap_or(i64::MAX))
    .bind(&entry.trace)
    .execute(connection)
    .await?;
    Ok(())
}

async fn insert_stages(
    connection: &mut sqlx::SqliteConnection,
    entry: &Entry,
) -> Result<(), sqlx::Error> {
    for (seq, report) in (0_i64..).zip(&entry.stages) {
        sqlx::query(
            "INSERT INTO stage_log (request_id, seq, received_at_us, app, stage, outcome, reason,
                 started_us, elapsed_us, budget_us)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT DO NOTHING",
        )
        .bind(entry.request_id.to_string())
        .bind(seq)
        .bind(entry.received_at_us())
        .bind(entry.app.as_str())
        .bind(report.stage.as_str())
        .bind(report.outcome.as_str())
        .bind(report.reason.map(domain::Reason::as_str))
        .bind(micros(report.started))
        .bind(micros(report.elapsed))
        .bind(micros(report.budget))
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}
