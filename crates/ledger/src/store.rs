//! [`Store`]: the SQLite file behind the log.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool,
    SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection};
use thiserror::Error;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::Entry;
use crate::entry::unix_micros;
use crate::insert::insert;

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite/ledger");

/// How long one statement waits for another process's lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// One to ship, one to fold, one to remove what is old, one for calibrations. The writer has its own.
const CONNECTIONS: u32 = 4;

/// Requests removed in one transaction: the writer waits no longer than that takes.
const REMOVED_AT_ONCE: i64 = 25;

/// What the write-ahead log is cut back to, in bytes, once it has been folded into the file.
const LONGEST_JOURNAL: &str = "16777216";

/// Pages of write-ahead log at which whoever writes folds it into the file, which waits for the disk. Before
/// that, [`Store::fold`] does it beside the writer.
const WRITER_FOLDS_AT: &str = "8000";

/// The latency log on disk.
#[derive(Clone, Debug)]
pub struct Store {
    pool: SqlitePool,
    /// Whoever is about to write waits for their turn here. SQLite would let them sleep for ever longer, past the
    /// moment at which the file is free.
    turns: Arc<Mutex<()>>,
}

/// The writer's end of the file: a connection that is kept, and given up when something went wrong on it.
#[derive(Debug)]
pub(crate) struct Pen {
    options: SqliteConnectOptions,
    turns: Arc<Mutex<()>>,
    connection: Option<SqliteConnection>,
}

/// A log that cannot be used.
#[derive(Debug, Error)]
pub enum LedgerError {
    #[error("cannot open the latency log {}", path.display())]
    Open { path: PathBuf, source: sqlx::Error },
    #[error("cannot bring the latency log {} up to date", path.display())]
    Migrate { path: PathBuf, source: MigrateError },
    #[error("cannot start writing the latency log")]
    Start(#[source] std::io::Error),
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
        Ok(Self { pool, turns: Arc::default() })
    }

    /// A connection for whoever writes all the time.
    pub(crate) fn pen(&self) -> Pen {
        let options = SqliteConnectOptions::clone(&self.pool.connect_options());
        Pen { options, turns: Arc::clone(&self.turns), connection: None }
    }

    /// Held while writing to the file.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turns.lock().await
    }

    /// A connection that only reads, for a question that may take long; the file need not be closed for it.
    pub(crate) async fn reader(&self) -> Result<SqliteConnection, LedgerError> {
        let options = self.pool.connect_options();
        let options = SqliteConnectOptions::new()
            .filename(options.get_filename())
            .read_only(true)
            .busy_timeout(LOCK_PATIENCE);
        options.connect().await.map_err(LedgerError::Read)
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
        let _turn = self.turn().await;
        let written = insert(&mut connection, entries).await;
        if written.is_err() {
            let _gone = connection.detach().close_hard().await;
        }
        written
    }

    /// Removes the requests received before `before`, with their stages and calls, and says how many there
    /// were.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Write`]; some may have been removed.
    pub async fn prune(&self, before: SystemTime) -> Result<u64, LedgerError> {
        let mut pruned = 0;
        loop {
            match self.remove_oldest(unix_micros(before)).await? {
                0 => return Ok(pruned),
                removed => pruned += removed,
            }
        }
    }

    /// Removes the oldest requests until the file holds no more than `most` bytes, but no more than a few
    /// thousand at once; says how many there were.
    pub(crate) async fn keep_within(&self, most: u64) -> Result<u64, LedgerError> {
        const ROUNDS: u64 = 200;
        let mut removed = 0;
        for _ in 0..ROUNDS {
            if self.held_bytes().await? <= most {
                break;
            }
            removed += self.remove_oldest(i64::MAX).await?;
        }
        Ok(removed)
    }

    /// What rows take of the file, in bytes.
    async fn held_bytes(&self) -> Result<u64, LedgerError> {
        let held: i64 = sqlx::query_scalar(
            "SELECT (page_count - freelist_count) * page_size
             FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
        )
        .fetch_one(&self.pool)
        .await
        .map_err(LedgerError::Read)?;
        Ok(u64::try_from(held).unwrap_or(0))
    }

    /// Removes the oldest requests received before `before_us`, as many as go in one transaction.
    async fn remove_oldest(&self, before_us: i64) -> Result<u64, LedgerError> {
        let _turn = self.turn().await;
        let removed = sqlx::query(
            "DELETE FROM request_log WHERE request_id IN (
                SELECT request_id FROM request_log WHERE received_at_us < ? ORDER BY received_at_us LIMIT ?)",
        )
        .bind(before_us)
        .bind(REMOVED_AT_ONCE)
        .execute(&self.pool)
        .await
        .map_err(LedgerError::Write)?;
        Ok(removed.rows_affected())
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

impl Pen {
    /// As [`Store::write`].
    ///
    /// # Errors
    ///
    /// [`LedgerError::Write`]; nothing was written.
    pub(crate) async fn write(&mut self, entries: &[Entry]) -> Result<(), LedgerError> {
        self.write_inner(entries).await.map_err(LedgerError::Write)
    }

    async fn write_inner(&mut self, entries: &[Entry]) -> Result<(), sqlx::Error> {
        let connection = match self.connection.take() {
            Some(connection) => self.connection.insert(connection),
            None => self.connection.insert(self.options.connect().await?),
        };
        let asked = Instant::now();
        let _turn = self.turns.lock().await;
        let began = Instant::now();
        let written = insert(connection, entries).await;
        tracing::debug!(
            rows.count = entries.len(),
            waited_ms = (began - asked).as_secs_f64() * 1000.0,
            wrote_ms = began.elapsed().as_secs_f64() * 1000.0,
            "a batch was written"
        );
        if written.is_err()
            && let Some(connection) = self.connection.take()
        {
            // Whatever is half done on it ends with it.
            let _gone = connection.close_hard().await;
        }
        written
    }

    /// Closes its connection.
    pub(crate) async fn close(self) {
        if let Some(connection) = self.connection {
            // The file is sound without a farewell.
            let _gone = connection.close().await;
        }
    }
}
