//! [`Catalog`]: the SQLite file.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::{AppName, Article, ArticleId, ContentHash, GenerationId, Passage, PassageId};
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow,
    SqliteSynchronous,
};
use sqlx::{Row, SqliteConnection};

use crate::{CatalogError, Changes, Publication, Published};

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite/catalog");

/// How long one statement waits for another process's lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// The catalog on disk. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Catalog {
    pool: SqlitePool,
}

impl Catalog {
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
        Ok(Self { pool })
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

    /// The newest generation of each app, by name; an app whose row cannot be understood leaves the others
    /// alone.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Read`] for all of them, [`CatalogError::Damaged`] for one.
    pub async fn newest(&self) -> Result<Vec<Result<Published, CatalogError>>, CatalogError> {
        let rows = sqlx::query(
            "SELECT * FROM generation AS g
             WHERE number = (SELECT max(number) FROM generation WHERE app = g.app) ORDER BY app",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(CatalogError::Read)?;
        Ok(rows.iter().map(published).collect())
    }

    /// The newest generation of `app`, if it has one.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Read`] or [`CatalogError::Damaged`].
    pub async fn newest_of(&self, app: &AppName) -> Result<Option<Published>, CatalogError> {
        let row =
            sqlx::query("SELECT * FROM generation WHERE app = ? ORDER BY number DESC LIMIT 1")
                .bind(app.as_str())
                .fetch_optional(&self.pool)
                .await
                .map_err(CatalogError::Read)?;
        row.as_ref().map(published).transpose()
    }

    /// The content hash of every article in `app`'s newest generation.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Read`].
    pub async fn content_hashes(
        &self,
        app: &AppName,
    ) -> Result<BTreeMap<ArticleId, ContentHash>, CatalogError> {
        let rows = sqlx::query(
            "SELECT article_id, content_hash FROM article WHERE app = ? AND until_generation IS NULL",
        )
        .bind(app.as_str())
        .fetch_all(&self.pool)
        .await
        .map_err(CatalogError::Read)?;
        let pair = |row: &SqliteRow| {
            let id: String = row.try_get("article_id")?;
            let hash: String = row.try_get("content_hash")?;
            Ok((ArticleId::new(id), ContentHash::from_hex(hash)))
        };
        rows.iter().map(pair).collect::<Result<_, _>>().map_err(CatalogError::Read)
    }

    /// Every passage of `app`'s newest generation, by article and position.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Read`] or [`CatalogError::Damaged`].
    pub async fn passages(&self, app: &AppName) -> Result<Vec<Passage>, CatalogError> {
        let rows = sqlx::query(
            "SELECT body FROM passage WHERE app = ? AND until_generation IS NULL
             ORDER BY article_id, ordinal",
        )
        .bind(app.as_str())
        .fetch_all(&self.pool)
        .await
        .map_err(CatalogError::Read)?;
        rows.iter()
            .map(|row| {
                let body: String = row.try_get("body").map_err(CatalogError::Read)?;
                serde_json::from_str(&body).map_err(|error| damaged(app.as_str(), "passage", error))
            })
            .collect()
    }

    /// The ids of the passages that `article` has in the newest generation.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Read`] or [`CatalogError::Damaged`].
    pub async fn passage_ids(
        &self,
        app: &AppName,
        article: &ArticleId,
    ) -> Result<Vec<PassageId>, CatalogError> {
        let rows = sqlx::query(
            "SELECT passage_id FROM passage
             WHERE app = ? AND article_id = ? AND until_generation IS NULL ORDER BY ordinal",
        )
        .bind(app.as_str())
        .bind(article.as_str())
        .fetch_all(&self.pool)
        .await
        .map_err(CatalogError::Read)?;
        rows.iter()
            .map(|row| {
                let id: String = row.try_get("passage_id").map_err(CatalogError::Read)?;
                id.parse().map_err(|error| damaged(app.as_str(), "passage id", error))
            })
            .collect()
    }

    /// Publishes a generation with its changes, all or nothing.
    ///
    /// # Errors
    ///
    /// [`CatalogError::AlreadyPublished`] if its number is taken, [`CatalogError::Write`] otherwise;
    /// in both cases the catalog is as it was.
    pub async fn publish(&self, publication: &Publication) -> Result<(), CatalogError> {
        let id = &publication.published.id;
        match self.publish_inner(publication).await {
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                Err(CatalogError::AlreadyPublished { app: id.app.clone(), number: id.number })
            }
            other => other.map_err(CatalogError::Write),
        }
    }

    async fn publish_inner(&self, publication: &Publication) -> Result<(), sqlx::Error> {
        let Publication { published, changes: Changes { written, removed } } = publication;
        let id = &published.id;
        let mut transaction = self.pool.begin().await?;
        insert_generation(&mut transaction, published).await?;
        for article in removed {
            close_article(&mut transaction, id, article).await?;
        }
        for (article, passages) in written {
            close_article(&mut transaction, id, &article.id).await?;
            insert_article(&mut transaction, id, article).await?;
            for passage in passages {
                insert_passage(&mut transaction, id, passage).await?;
            }
        }
        transaction.commit().await
    }

    /// Closes the file.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

async fn insert_generation(
    connection: &mut SqliteConnection,
    published: &Published,
) -> Result<(), sqlx::Error> {
    let recipe =
        serde_json::to_string(&published.recipe).expect("a recipe is plain strings and numbers");
    sqlx::query(
        "INSERT INTO generation (app, number, epoch, recipe, articles, passages, published_at_us)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(published.id.app.as_str())
    .bind(stored(published.id.number))
    .bind(published.id.epoch)
    .bind(recipe)
    .bind(stored(published.articles))
    .bind(stored(published.passages))
    .bind(micros_since_epoch(published.published_at))
    .execute(connection)
    .await?;
    Ok(())
}

/// Turns the open rows of `article` into tombstones as of generation `id`.
async fn close_article(
    connection: &mut SqliteConnection,
    id: &GenerationId,
    article: &ArticleId,
) -> Result<(), sqlx::Error> {
    let statements = [
        "UPDATE article SET until_generation = ?
         WHERE app = ? AND article_id = ? AND until_generation IS NULL",
        "UPDATE passage SET until_generation = ?
         WHERE app = ? AND article_id = ? AND until_generation IS NULL",
    ];
    for statement in statements {
        sqlx::query(statement)
            .bind(stored(id.number))
            .bind(id.app.as_str())
            .bind(article.as_str())
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

async fn insert_article(
    connection: &mut SqliteConnection,
    id: &GenerationId,
    article: &Article,
) -> Result<(), sqlx::Error> {
    let tags = serde_json::to_string(&article.tags).expect("strings always serialise");
    sqlx::query(
        "INSERT INTO article (app, article_id, from_generation, content_hash, title, lang, url, path, tags)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(id.app.as_str())
    .bind(article.id.as_str())
    .bind(stored(id.number))
    .bind(article.content_hash().as_str())
    .bind(&article.title)
    .bind(article.lang.as_str())
    .bind(article.url.as_deref())
    .bind(&article.path)
    .bind(tags)
    .execute(connection)
    .await?;
    Ok(())
}

async fn insert_passage(
    connection: &mut SqliteConnection,
    id: &GenerationId,
    passage: &Passage,
) -> Result<(), sqlx::Error> {
    let body = serde_json::to_string(passage).expect("a passage is plain strings and numbers");
    sqlx::query(
        "INSERT INTO passage (app, article_id, from_generation, ordinal, passage_id, body)
         VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(id.app.as_str())
    .bind(passage.article_id.as_str())
    .bind(stored(id.number))
    .bind(passage.ordinal)
    .bind(passage.id.to_string())
    .bind(body)
    .execute(connection)
    .await?;
    Ok(())
}

fn published(row: &SqliteRow) -> Result<Published, CatalogError> {
    let column = |name: &str| row.try_get::<String, _>(name).map_err(CatalogError::Read);
    let number = |name: &str| {
        let value: i64 = row.try_get(name).map_err(CatalogError::Read)?;
        Ok(u64::try_from(value).unwrap_or(0))
    };
    let app = column("app")?;
    let recipe =
        serde_json::from_str(&column("recipe")?).map_err(|error| damaged(&app, "recipe", error))?;
    Ok(Published {
        id: GenerationId {
            app: app.parse().map_err(|error| damaged(&app, "name", error))?,
            epoch: row.try_get("epoch").map_err(CatalogError::Read)?,
            number: number("number")?,
        },
        recipe,
        articles: number("articles")?,
        passages: number("passages")?,
        published_at: UNIX_EPOCH + Duration::from_micros(number("published_at_us")?),
    })
}

fn damaged(app: &str, what: &'static str, source: impl Into<domain::BoxError>) -> CatalogError {
    CatalogError::Damaged { app: app.to_owned(), what, source: source.into() }
}

/// SQLite's integers are signed.
fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn micros_since_epoch(at: SystemTime) -> i64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
