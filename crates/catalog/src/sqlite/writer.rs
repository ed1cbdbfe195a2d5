//! [`SqliteWriter`]: publishing, one transaction.

use async_trait::async_trait;
use domain::{Article, ArticleId, GenerationId, Passage};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqlitePool;

use super::lock::FileLock;
use crate::stored::{micros_since_epoch, passage_text, recipe_text, stored};
use crate::{CatalogError, Changes, Publication, Published, Writer};

#[derive(Debug)]
pub(super) struct SqliteWriter {
    pool: SqlitePool,
    _lock: FileLock,
}

impl SqliteWriter {
    pub(super) fn new(pool: SqlitePool, lock: FileLock) -> Self {
        Self { pool, _lock: lock }
    }

    async fn write(&self, publication: &Publication) -> Result<(), sqlx::Error> {
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
}

#[async_trait]
impl Writer for SqliteWriter {
    /// The file is locked as long as it is open.
    async fn check(&mut self) -> Result<(), CatalogError> {
        Ok(())
    }

    async fn publish(&mut self, publication: &Publication) -> Result<(), CatalogError> {
        let id = &publication.published.id;
        match self.write(publication).await {
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                Err(CatalogError::AlreadyPublished { app: id.app.clone(), number: id.number })
            }
            other => other.map_err(CatalogError::Write),
        }
    }

    async fn release(self: Box<Self>) {}
}

async fn insert_generation(
    connection: &mut SqliteConnection,
    published: &Published,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO generation (app, number, epoch, recipe, articles, passages, published_at_us)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(published.id.app.as_str())
    .bind(stored(published.id.number))
    .bind(published.id.epoch)
    .bind(recipe_text(&published.recipe))
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
    sqlx::query(
        "INSERT INTO passage (app, article_id, from_generation, ordinal, passage_id, body)
         VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(id.app.as_str())
    .bind(passage.article_id.as_str())
    .bind(stored(id.number))
    .bind(passage.ordinal)
    .bind(passage.id.to_string())
    .bind(passage_text(passage))
    .execute(connection)
    .await?;
    Ok(())
}
