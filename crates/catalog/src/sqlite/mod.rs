//! [`SqliteCatalog`]: a file of one machine.

mod lock;
mod writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use domain::{AppName, ArticleId, ContentHash, GenerationId, Passage, PassageId};
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use crate::stored::{
    GenerationRow, HeardRow, heard, identity, micros_since_epoch, passage, passage_id, published,
    stored,
};
use crate::{Beat, Catalog, CatalogError, Difference, Heard, KeptVectors, Published, Writer};
use lock::FileLock;
use writer::SqliteWriter;

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite/catalog");

/// How long one statement waits for another process's lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// How long a silent replica's row is kept.
const GONE: Duration = Duration::from_secs(24 * 60 * 60);

/// The catalog on disk. Locks on its apps lie in a folder `locks` beside it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SqliteCatalog {
    pool: SqlitePool,
    locks: PathBuf,
}

impl SqliteCatalog {
    /// Opens the catalog at `path`, making and migrating it as needed.
    ///
    /// # Errors
    ///
    /// [`CatalogError`] naming the file.
    pub async fn open(path: &Path) -> Result<Self, CatalogError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // A published generation must survive a power cut.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(LOCK_PATIENCE);
        let pool = SqlitePoolOptions::new()
            .max_connections(2)
            .connect_with(options)
            .await
            .map_err(|source| CatalogError::Open { path: path.to_owned(), source })?;
        MIGRATIONS
            .run(&pool)
            .await
            .map_err(|source| CatalogError::Migrate { path: path.to_owned(), source })?;
        Ok(Self { pool, locks: path.with_file_name("locks") })
    }

    /// Opens a catalog that must be there.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Missing`] if it is not, else as [`open`](Self::open).
    pub async fn open_existing(path: &Path) -> Result<Self, CatalogError> {
        if !path.is_file() {
            return Err(CatalogError::Missing { path: path.to_owned() });
        }
        Self::open(path).await
    }
}

#[async_trait]
impl Catalog for SqliteCatalog {
    /// Its vectors lie in files beside it.
    fn shared(&self) -> Option<&dyn KeptVectors> {
        None
    }

    async fn identity(&self) -> Result<u32, CatalogError> {
        let number = sqlx::query_scalar("SELECT number FROM identity").fetch_one(&self.pool).await;
        identity(number.map_err(CatalogError::Read)?)
    }

    async fn newest(&self) -> Result<Vec<Result<Published, CatalogError>>, CatalogError> {
        let rows: Vec<GenerationRow> = sqlx::query_as(
            "SELECT app, number, epoch, recipe, articles, passages, published_at_us FROM generation AS g
             WHERE number = (SELECT max(number) FROM generation WHERE app = g.app) ORDER BY app",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(CatalogError::Read)?;
        Ok(rows.iter().map(published).collect())
    }

    async fn newest_of(&self, app: &AppName) -> Result<Option<Published>, CatalogError> {
        let row: Option<GenerationRow> = sqlx::query_as(
            "SELECT app, number, epoch, recipe, articles, passages, published_at_us FROM generation
             WHERE app = ? ORDER BY number DESC LIMIT 1",
        )
        .bind(app.as_str())
        .fetch_optional(&self.pool)
        .await
        .map_err(CatalogError::Read)?;
        row.as_ref().map(published).transpose()
    }

    async fn since(&self, app: &AppName, number: u64) -> Result<Vec<Published>, CatalogError> {
        let rows: Vec<GenerationRow> = sqlx::query_as(
            "SELECT app, number, epoch, recipe, articles, passages, published_at_us FROM generation
             WHERE app = ? AND number >= ? ORDER BY number",
        )
        .bind(app.as_str())
        .bind(stored(number))
        .fetch_all(&self.pool)
        .await
        .map_err(CatalogError::Read)?;
        rows.iter().map(published).collect()
    }

    async fn content_hashes(
        &self,
        app: &AppName,
    ) -> Result<BTreeMap<ArticleId, ContentHash>, CatalogError> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "SELECT article_id, content_hash FROM article WHERE app = ? AND until_generation IS NULL",
        )
        .bind(app.as_str())
        .fetch_all(&self.pool)
        .await
        .map_err(CatalogError::Read)?;
        let pair = |(id, hash): (String, String)| (ArticleId::new(id), ContentHash::from_hex(hash));
        Ok(rows.into_iter().map(pair).collect())
    }

    async fn passage_ids(
        &self,
        app: &AppName,
        articles: &[ArticleId],
    ) -> Result<Vec<PassageId>, CatalogError> {
        let mut ids = Vec::new();
        for article in articles {
            let rows: Vec<String> = sqlx::query_scalar(
                "SELECT passage_id FROM passage
                 WHERE app = ? AND article_id = ? AND until_generation IS NULL ORDER BY ordinal",
            )
            .bind(app.as_str())
            .bind(article.as_str())
            .fetch_all(&self.pool)
            .await
            .map_err(CatalogError::Read)?;
            for digits in &rows {
                ids.push(passage_id(app.as_str(), digits)?);
            }
        }
        Ok(ids)
    }

    async fn passages(&self, generation: &GenerationId) -> Result<Vec<Passage>, CatalogError> {
        let (app, number) = (generation.app.as_str(), stored(generation.number));
        let rows: Vec<String> = sqlx::query_scalar(
            "SELECT body FROM passage WHERE app = ?1 AND from_generation <= ?2
                 AND (until_generation IS NULL OR until_generation > ?2)
             ORDER BY article_id, ordinal",
        )
        .bind(app)
        .bind(number)
        .fetch_all(&self.pool)
        .await
        .map_err(CatalogError::Read)?;
        rows.iter().map(|body| passage(app, body)).collect()
    }

    async fn difference(
        &self,
        basis: u64,
        generation: &GenerationId,
    ) -> Result<Difference, CatalogError> {
        let (app, basis, number) =
            (generation.app.as_str(), stored(basis), stored(generation.number));
        let removed: Vec<String> = sqlx::query_scalar(
            "SELECT passage_id FROM passage
             WHERE app = ?1 AND from_generation <= ?2 AND until_generation > ?2 AND until_generation <= ?3
             ORDER BY article_id, ordinal",
        )
        .bind(app)
        .bind(basis)
        .bind(number)
        .fetch_all(&self.pool)
        .await
        .map_err(CatalogError::Read)?;
        let written: Vec<String> = sqlx::query_scalar(
            "SELECT body FROM passage
             WHERE app = ?1 AND from_generation > ?2 AND from_generation <= ?3
                 AND (until_generation IS NULL OR until_generation > ?3)
             ORDER BY article_id, ordinal",
        )
        .bind(app)
        .bind(basis)
        .bind(number)
        .fetch_all(&self.pool)
        .await
        .map_err(CatalogError::Read)?;
        Ok(Difference {
            removed: removed.iter().map(|id| passage_id(app, id)).collect::<Result<_, _>>()?,
            written: written.iter().map(|body| passage(app, body)).collect::<Result<_, _>>()?,
        })
    }

    async fn writer(&self, app: &AppName, holder: &str) -> Result<Box<dyn Writer>, CatalogError> {
        let lock = FileLock::take(&self.locks, app, holder)?;
        Ok(Box::new(SqliteWriter::new(self.pool.clone(), lock)))
    }

    async fn beat(&self, beat: &Beat) -> Result<(), CatalogError> {
        let now = SystemTime::now();
        let mut transaction = self.pool.begin().await.map_err(CatalogError::Write)?;
        for (app, number) in &beat.oldest_in_use {
            sqlx::query(
                "INSERT INTO replica (replica, app, generation, seen_at_us) VALUES (?, ?, ?, ?)
                 ON CONFLICT (replica, app) DO UPDATE
                 SET generation = excluded.generation, seen_at_us = excluded.seen_at_us",
            )
            .bind(&beat.replica)
            .bind(app.as_str())
            .bind(stored(*number))
            .bind(micros_since_epoch(now))
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::Write)?;
        }
        sqlx::query("DELETE FROM replica WHERE seen_at_us < ?")
            .bind(micros_since_epoch(now - GONE))
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::Write)?;
        transaction.commit().await.map_err(CatalogError::Write)
    }

    async fn leave(&self, replica: &str) -> Result<(), CatalogError> {
        let delete = sqlx::query("DELETE FROM replica WHERE replica = ?").bind(replica);
        delete.execute(&self.pool).await.map(drop).map_err(CatalogError::Write)
    }

    async fn oldest_in_use(
        &self,
        app: &AppName,
        silence: Duration,
    ) -> Result<Option<u64>, CatalogError> {
        let oldest: Option<i64> = sqlx::query_scalar(
            "SELECT min(generation) FROM replica WHERE app = ? AND seen_at_us >= ?",
        )
        .bind(app.as_str())
        .bind(micros_since_epoch(SystemTime::now() - silence))
        .fetch_one(&self.pool)
        .await
        .map_err(CatalogError::Read)?;
        Ok(oldest.and_then(|number| u64::try_from(number).ok()))
    }

    async fn servers(&self, app: &AppName, silence: Duration) -> Result<Vec<Heard>, CatalogError> {
        let now = SystemTime::now();
        let rows: Vec<HeardRow> = sqlx::query_as(
            "SELECT replica, generation, max(0, ?2 - seen_at_us) FROM replica
             WHERE app = ?1 AND seen_at_us >= ?3 ORDER BY generation, replica",
        )
        .bind(app.as_str())
        .bind(micros_since_epoch(now))
        .bind(micros_since_epoch(now - silence))
        .fetch_all(&self.pool)
        .await
        .map_err(CatalogError::Read)?;
        rows.into_iter().map(|row| heard(app, row)).collect()
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}
