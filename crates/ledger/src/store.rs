//! [`Store`]: the SQLite file behind the log.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sqlx::Connection;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool,
    SqlitePoolOptions, SqliteSynchronous,
};
use thiserror::Error;

use crate::Entry;
use crate::entry::unix_micros;
use crate::insert::insert;

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite/ledger");

/// How long one statement waits for another process's lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// One to write, one to ship, one to fold, one for reports.
const CONNECTIONS: u32 = 4;

/// What the write-ahead log is cut back to, in bytes, once it has been folded into the file.
const LONGEST_JOURNAL: &str = "16777216";

/// Pages of write-ahead log at which whoever writes folds it into the file, which waits for the disk. Before
/// that, [`Store::fold`] does it beside the writer.
const WRITER_FOLDS_AT: &str = "8000";

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
            // Space of removed rows can go back to the disk.
            .auto_vacuum(SqliteAutoVacuum::Incremental)
            .journal_mode(SqliteJournalMode::Wal)
            .pragma("journal_size_limit", LONGEST_JOURNAL)
            .pragma("wal_autocheckpoint", WRITER_FOLDS_AT)
            // With WAL, NORMAL survives a killed process; a power cut may cost the last moments' rows.
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(LOCK_PATIENCE);
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS)
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
        let mut connection = self.pool.acquire().await?;
        let written = write_all(&mut connection, entries).await;
        if written.is_err() {
            // A full disk makes SQLite roll back by itself, which the driver does not learn: what it took for
            // later transactions of this connection would be parts of one that never ends.
            let _gone = connection.detach().close_hard().await;
        }
        written
    }

    /// Removes the requests received before `before`, with their stages and calls, and says how many there
    /// were.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Write`].
    pub async fn prune(&self, before: SystemTime) -> Result<u64, LedgerError> {
        let pruned = sqlx::query("DELETE FROM request_log WHERE received_at_us < ?")
            .bind(unix_micros(before))
            .execute(&self.pool)
            .await
            .map_err(LedgerError::Write)?;
        Ok(pruned.rows_affected())
    }

    /// Folds the write-ahead log into the file, as far as that keeps nobody waiting.
    pub(crate) async fn fold(&self) -> Result<(), LedgerError> {
        let folded = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").fetch_all(&self.pool).await;
        folded.map(drop).map_err(LedgerError::Write)
    }

    /// Closes the file; the write-ahead log is folded into it.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

async fn write_all(
    connection: &mut SqliteConnection,
    entries: &[Entry],
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    insert(&mut transaction, entries).await?;
    transaction.commit().await
}
