//! [`PgCatalog`]: a database that hosts share.

mod migrations;
mod settings;
mod vectors;
mod writer;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use deadline::Deadline;
use domain::{AppName, ArticleId, ContentHash, GenerationId, Passage, PassageId};
use futures_util::future::BoxFuture;
use sqlx::postgres::{PgPool, PgPoolOptions};

use crate::stored::{
    GenerationRow, HeardRow, heard, identity, passage, passage_id, published, stored,
};
use crate::{Beat, Catalog, CatalogError, Difference, Heard, KeptVectors, Published, Writer};
use writer::PgWriter;

pub use migrations::{may_create, migrate, newer, pending};
pub use settings::PgSettings;

/// How long a look into the database may take: connecting, waiting for a connection, and the answer.
const LOOK: Duration = Duration::from_secs(10);
/// How long reading a whole app may take.
const READ: Duration = Duration::from_secs(300);
const CONNECT: Duration = Duration::from_secs(5);
const GOODBYE: Duration = Duration::from_secs(2);
/// Looks, reads and beats at once.
const MOST_CONNECTIONS: u32 = 4;

/// What a statement may take before the server gives it up, and what it may wait for a lock; a little more than
/// this side waits.
const LIMITS: &str = "
    SELECT set_config('statement_timeout', '310s', false), set_config('lock_timeout', '10s', false),
           set_config('TimeZone', 'UTC', false)";

/// The catalog in Postgres, connected to when it is first asked and whenever it has come back. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PgCatalog {
    settings: PgSettings,
    pool: PgPool,
    migrated: Arc<AtomicBool>,
}

impl PgCatalog {
    /// The catalog that `settings` name, which need not be there yet. Wants a tokio runtime around it.
    #[must_use]
    pub fn new(settings: PgSettings) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(MOST_CONNECTIONS)
            .acquire_timeout(CONNECT)
            .after_connect(|connection, _| {
                Box::pin(async move { sqlx::query(LIMITS).execute(connection).await.map(drop) })
            })
            .connect_lazy_with(settings.options.clone());
        Self { settings, pool, migrated: Arc::default() }
    }

    /// The pool, behind which everything is up to date.
    async fn pool(&self) -> Result<&PgPool, CatalogError> {
        if !self.migrated.load(Ordering::Acquire) {
            bring_up_to_date(&self.settings).await?;
            self.migrated.store(true, Ordering::Release);
        }
        Ok(&self.pool)
    }

    async fn read<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, CatalogError> {
        self.noted(read(limit, work).await)
    }

    async fn write<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, CatalogError> {
        self.noted(write(limit, work).await)
    }

    /// Another database may have taken the place of the one that was migrated: then whoever asks next migrates.
    fn noted<T>(&self, result: Result<T, CatalogError>) -> Result<T, CatalogError> {
        if let Err(CatalogError::Read(error) | CatalogError::Write(error)) = &result
            && lacks_tables(error)
        {
            self.migrated.store(false, Ordering::Release);
        }
        result
    }
}

/// What Postgres says of a table, a schema, a function and a column that are not there.
const LACKING: [&str; 4] = ["42P01", "3F000", "42883", "42703"];

fn lacks_tables(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| LACKING.contains(&&*code))
}

/// Migrations exclude each other, so that several at once do no harm.
fn bring_up_to_date(settings: &PgSettings) -> BoxFuture<'_, Result<(), CatalogError>> {
    Box::pin(async move {
        let missing = pending(settings).await?;
        if missing.is_empty() {
            return Ok(());
        }
        if !settings.migrate_at_start {
            return Err(CatalogError::Pending(missing));
        }
        migrate(settings).await.map(drop)
    })
}

/// Runs `work`, for no longer than `limit`.
async fn bounded<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<Result<T, sqlx::Error>, CatalogError> {
    match Deadline::after(limit).run(work).await {
        Err(_out_of_time) => Err(CatalogError::TimedOut),
        Ok(Err(error @ sqlx::Error::PoolTimedOut)) => Err(CatalogError::Connect(error)),
        Ok(other) => Ok(other),
    }
}

async fn read<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, CatalogError> {
    bounded(limit, work).await?.map_err(CatalogError::Read)
}

async fn write<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, CatalogError> {
    bounded(limit, work).await?.map_err(CatalogError::Write)
}

/// Generations as rows are read, and which.
macro_rules! generations {
    ($columns:literal, $which:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " app, number, epoch::bigint, recipe::text, articles, passages,
                (extract(epoch FROM published_at) * 1000000)::bigint
             FROM catalog.generation ",
            $which
        )
    };
}

#[async_trait]
impl Catalog for PgCatalog {
    fn shared(&self) -> Option<&dyn KeptVectors> {
        Some(self)
    }

    async fn identity(&self) -> Result<u32, CatalogError> {
        let query = sqlx::query_scalar("SELECT number FROM catalog.identity");
        identity(self.read(LOOK, query.fetch_one(self.pool().await?)).await?)
    }

    async fn newest(&self) -> Result<Vec<Result<Published, CatalogError>>, CatalogError> {
        let query = sqlx::query_as(generations!("DISTINCT ON (app)", "ORDER BY app, number DESC"));
        let rows: Vec<GenerationRow> = self.read(LOOK, query.fetch_all(self.pool().await?)).await?;
        Ok(rows.iter().map(published).collect())
    }

    async fn newest_of(&self, app: &AppName) -> Result<Option<Published>, CatalogError> {
        let query = sqlx::query_as(generations!("", "WHERE app = $1 ORDER BY number DESC LIMIT 1"))
            .bind(app.as_str());
        let row: Option<GenerationRow> =
            self.read(LOOK, query.fetch_optional(self.pool().await?)).await?;
        row.as_ref().map(published).transpose()
    }

    async fn since(&self, app: &AppName, number: u64) -> Result<Vec<Published>, CatalogError> {
        let query =
            sqlx::query_as(generations!("", "WHERE app = $1 AND number >= $2 ORDER BY number"))
                .bind(app.as_str())
                .bind(stored(number));
        let rows: Vec<GenerationRow> = self.read(LOOK, query.fetch_all(self.pool().await?)).await?;
        rows.iter().map(published).collect()
    }

    async fn content_hashes(
        &self,
        app: &AppName,
    ) -> Result<BTreeMap<ArticleId, ContentHash>, CatalogError> {
        let query = sqlx::query_as(
            "SELECT article_id, content_hash FROM catalog.article
             WHERE app = $1 AND until_generation IS NULL",
        )
        .bind(app.as_str());
        let rows: Vec<(String, String)> =
            self.read(READ, query.fetch_all(self.pool().await?)).await?;
        let pair = |(id, hash): (String, String)| (ArticleId::new(id), ContentHash::from_hex(hash));
        Ok(rows.into_iter().map(pair).collect())
    }

    async fn passage_ids(
        &self,
        app: &AppName,
        articles: &[ArticleId],
    ) -> Result<Vec<PassageId>, CatalogError> {
        let articles: Vec<&str> = articles.iter().map(ArticleId::as_str).collect();
        let query = sqlx::query_scalar(
            "SELECT passage_id FROM catalog.passage
             WHERE app = $1 AND article_id = ANY($2) AND until_generation IS NULL
             ORDER BY article_id, ordinal",
        )
        .bind(app.as_str())
        .bind(articles);
        let rows: Vec<String> = self.read(READ, query.fetch_all(self.pool().await?)).await?;
        rows.iter().map(|digits| passage_id(app.as_str(), digits)).collect()
    }

    async fn passages(&self, generation: &GenerationId) -> Result<Vec<Passage>, CatalogError> {
        let app = generation.app.as_str();
        let query = sqlx::query_scalar(
            "SELECT body FROM catalog.passage WHERE app = $1 AND from_generation <= $2
                 AND (until_generation IS NULL OR until_generation > $2)
             ORDER BY article_id, ordinal",
        )
        .bind(app)
        .bind(stored(generation.number));
        let rows: Vec<String> = self.read(READ, query.fetch_all(self.pool().await?)).await?;
        rows.iter().map(|body| passage(app, body)).collect()
    }

    async fn difference(
        &self,
        basis: u64,
        generation: &GenerationId,
    ) -> Result<Difference, CatalogError> {
        let app = generation.app.as_str();
        let removed = sqlx::query_scalar(
            "SELECT passage_id FROM catalog.passage
             WHERE app = $1 AND from_generation <= $2 AND until_generation > $2 AND until_generation <= $3
             ORDER BY article_id, ordinal",
        )
        .bind(app)
        .bind(stored(basis))
        .bind(stored(generation.number));
        let removed: Vec<String> = self.read(READ, removed.fetch_all(self.pool().await?)).await?;
        let written = sqlx::query_scalar(
            "SELECT body FROM catalog.passage
             WHERE app = $1 AND from_generation > $2 AND from_generation <= $3
                 AND (until_generation IS NULL OR until_generation > $3)
             ORDER BY article_id, ordinal",
        )
        .bind(app)
        .bind(stored(basis))
        .bind(stored(generation.number));
        let written: Vec<String> = self.read(READ, written.fetch_all(self.pool().await?)).await?;
        Ok(Difference {
            removed: removed.iter().map(|id| passage_id(app, id)).collect::<Result<_, _>>()?,
            written: written.iter().map(|body| passage(app, body)).collect::<Result<_, _>>()?,
        })
    }

    async fn writer(&self, app: &AppName, holder: &str) -> Result<Box<dyn Writer>, CatalogError> {
        // Sees to the tables.
        let _pool = self.pool().await?;
        Ok(Box::new(PgWriter::take(&self.settings, app, holder).await?))
    }

    async fn beat(&self, beat: &Beat) -> Result<(), CatalogError> {
        let (apps, numbers): (Vec<&str>, Vec<i64>) =
            beat.oldest_in_use.iter().map(|(app, number)| (app.as_str(), stored(*number))).unzip();
        let query = sqlx::query(
            "WITH gone AS (DELETE FROM catalog.replica WHERE seen_at < now() - interval '1 day')
             INSERT INTO catalog.replica (replica, app, generation, seen_at)
             SELECT $1, app, number, now() FROM unnest($2::text[], $3::bigint[]) AS in_use (app, number)
             ON CONFLICT (replica, app) DO UPDATE
             SET generation = excluded.generation, seen_at = excluded.seen_at",
        )
        .bind(&beat.replica)
        .bind(apps)
        .bind(numbers);
        self.write(LOOK, query.execute(self.pool().await?)).await.map(drop)
    }

    async fn leave(&self, replica: &str) -> Result<(), CatalogError> {
        let query = sqlx::query("DELETE FROM catalog.replica WHERE replica = $1").bind(replica);
        self.write(GOODBYE, query.execute(&self.pool)).await.map(drop)
    }

    async fn oldest_in_use(
        &self,
        app: &AppName,
        silence: Duration,
    ) -> Result<Option<u64>, CatalogError> {
        let query = sqlx::query_scalar(
            "SELECT min(generation) FROM catalog.replica
             WHERE app = $1 AND seen_at >= now() - $2 * interval '1 second'",
        )
        .bind(app.as_str())
        .bind(silence.as_secs_f64());
        let oldest: Option<i64> = self.read(LOOK, query.fetch_one(self.pool().await?)).await?;
        Ok(oldest.and_then(|number| u64::try_from(number).ok()))
    }

    async fn servers(&self, app: &AppName, silence: Duration) -> Result<Vec<Heard>, CatalogError> {
        let query = sqlx::query_as(
            "SELECT replica, generation, greatest(0, (extract(epoch FROM now() - seen_at) * 1000000)::bigint)
             FROM catalog.replica WHERE app = $1 AND seen_at >= now() - $2 * interval '1 second'
             ORDER BY generation, replica",
        )
        .bind(app.as_str())
        .bind(silence.as_secs_f64());
        let rows: Vec<HeardRow> = self.read(LOOK, query.fetch_all(self.pool().await?)).await?;
        rows.into_iter().map(|row| heard(app, row)).collect()
    }

    async fn close(&self) {
        // Connections that do not answer are closed by the process's end.
        let _gone = Deadline::after(GOODBYE).run(self.pool.close()).await;
    }
}
