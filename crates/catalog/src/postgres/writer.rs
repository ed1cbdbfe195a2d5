//! [`PgWriter`]: an advisory lock, and publishing over the connection that holds it.

use std::time::Duration;

use async_trait::async_trait;
use domain::{AppName, Article, ArticleId, Passage};
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use super::migrations::connect;
use super::{GOODBYE, LIMITS, LOOK, PgSettings, bounded, read};
use crate::stored::{micros_since_epoch, passage_text, recipe_text, stored};
use crate::{CatalogError, Changes, Publication, Published, Writer};

/// How long one publication may take: a first one of a hundred thousand passages, over a slow line.
const PUBLISH: Duration = Duration::from_secs(1800);
/// Rows per statement.
const BATCH: usize = 500;

/// The first half of the lock's key; the second is of the app's name. Two names of one hash would keep each other
/// waiting, no more.
const TRY_LOCK: &str = "SELECT pg_try_advisory_lock(1802073954, hashtext($1))";
const UNLOCK: &str = "SELECT pg_advisory_unlock_all()";
const SIGN: &str = "
    INSERT INTO catalog.writer (app, holder, since) VALUES ($1, $2, now())
    ON CONFLICT (app) DO UPDATE SET holder = excluded.holder, since = excluded.since";
const HOLDER: &str = "
    SELECT holder || ' since ' || to_char(since, 'YYYY-MM-DD HH24:MI:SS') || ' UTC'
    FROM catalog.writer WHERE app = $1";

/// A connection of its own: when it ends, so does the lock, and nothing can be published over it.
#[derive(Debug)]
pub(super) struct PgWriter {
    connection: PgConnection,
    app: AppName,
}

impl PgWriter {
    pub(super) async fn take(
        settings: &PgSettings,
        app: &AppName,
        holder: &str,
    ) -> Result<Self, CatalogError> {
        let mut connection = connect(settings).await?;
        read(LOOK, sqlx::query(LIMITS).execute(&mut connection)).await?;
        let lock = sqlx::query_scalar(TRY_LOCK).bind(app.as_str()).fetch_one(&mut connection);
        if !read::<bool>(LOOK, lock).await? {
            let holder = sqlx::query_scalar(HOLDER).bind(app.as_str());
            let holder: Option<String> = read(LOOK, holder.fetch_optional(&mut connection)).await?;
            let holder = holder.unwrap_or_else(|| "another process".to_owned());
            return Err(CatalogError::Busy { app: app.clone(), holder });
        }
        let sign = sqlx::query(SIGN).bind(app.as_str()).bind(holder).execute(&mut connection);
        read(LOOK, sign).await?;
        Ok(Self { connection, app: app.clone() })
    }
}

#[async_trait]
impl Writer for PgWriter {
    async fn check(&mut self) -> Result<(), CatalogError> {
        let answer = read(LOOK, sqlx::query("SELECT 1").execute(&mut self.connection)).await;
        answer.map(drop).map_err(|_gone| CatalogError::Lost { app: self.app.clone() })
    }

    async fn publish(&mut self, publication: &Publication) -> Result<(), CatalogError> {
        self.check().await?;
        let id = &publication.published.id;
        match bounded(PUBLISH, write(&mut self.connection, publication)).await? {
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                Err(CatalogError::AlreadyPublished { app: id.app.clone(), number: id.number })
            }
            other => other.map_err(CatalogError::Write),
        }
    }

    async fn release(self: Box<Self>) {
        let mut connection = self.connection;
        let goodbye = async {
            // In so many words: the server would notice only in a while that the connection has gone.
            sqlx::query(UNLOCK).execute(&mut connection).await?;
            connection.close().await
        };
        let _gone = bounded(GOODBYE, goodbye).await;
    }
}

async fn write(
    connection: &mut PgConnection,
    publication: &Publication,
) -> Result<(), sqlx::Error> {
    let Publication { published, changes: Changes { written, removed } } = publication;
    let (app, number) = (published.id.app.as_str(), stored(published.id.number));
    let mut transaction = connection.begin().await?;
    insert_generation(&mut transaction, published).await?;
    let touched = removed.iter().chain(written.iter().map(|(article, _)| &article.id));
    let touched: Vec<&str> = touched.map(ArticleId::as_str).collect();
    for articles in touched.chunks(BATCH) {
        close_articles(&mut transaction, app, number, articles).await?;
    }
    let articles: Vec<&Article> = written.iter().map(|(article, _)| article).collect();
    for articles in articles.chunks(BATCH) {
        insert_articles(&mut transaction, app, number, articles).await?;
    }
    let passages: Vec<&Passage> = written.iter().flat_map(|(_, passages)| passages).collect();
    for passages in passages.chunks(BATCH) {
        insert_passages(&mut transaction, app, number, passages).await?;
    }
    transaction.commit().await
}

async fn insert_generation(
    connection: &mut PgConnection,
    published: &Published,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO catalog.generation (app, number, epoch, recipe, articles, passages, published_at)
         VALUES ($1, $2, $3, $4::jsonb, $5, $6, timestamptz 'epoch' + $7 * interval '1 microsecond')",
    )
    .bind(published.id.app.as_str())
    .bind(stored(published.id.number))
    .bind(i32::try_from(published.id.epoch).unwrap_or(i32::MAX))
    .bind(recipe_text(&published.recipe))
    .bind(stored(published.articles))
    .bind(stored(published.passages))
    .bind(micros_since_epoch(published.published_at))
    .execute(connection)
    .await?;
    Ok(())
}

/// Turns the open rows of `articles` into tombstones as of generation `number`.
async fn close_articles(
    connection: &mut PgConnection,
    app: &str,
    number: i64,
    articles: &[&str],
) -> Result<(), sqlx::Error> {
    let statements = [
        "UPDATE catalog.article SET until_generation = $1
         WHERE app = $2 AND article_id = ANY($3) AND until_generation IS NULL",
        "UPDATE catalog.passage SET until_generation = $1
         WHERE app = $2 AND article_id = ANY($3) AND until_generation IS NULL",
    ];
    for statement in statements {
        sqlx::query(statement)
            .bind(number)
            .bind(app)
            .bind(articles)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Tags come as JSON, for arrays of arrays have to be of one length.
async fn insert_articles(
    connection: &mut PgConnection,
    app: &str,
    number: i64,
    articles: &[&Article],
) -> Result<(), sqlx::Error> {
    let column = |text: fn(&Article) -> String| -> Vec<String> {
        articles.iter().map(|article| storable(&text(article))).collect()
    };
    let urls: Vec<Option<String>> =
        articles.iter().map(|article| article.url.as_deref().map(storable)).collect();
    sqlx::query(
        "INSERT INTO catalog.article
             (app, article_id, from_generation, content_hash, title, lang, url, path, tags)
         SELECT $1, article_id, $2, content_hash, title, lang, url, path,
             ARRAY(SELECT json_array_elements_text(tags::json))
         FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
             AS row (article_id, content_hash, title, lang, url, path, tags)",
    )
    .bind(app)
    .bind(number)
    .bind(column(|article| article.id.as_str().to_owned()))
    .bind(column(|article| article.content_hash().as_str().to_owned()))
    .bind(column(|article| article.title.clone()))
    .bind(column(|article| article.lang.as_str().to_owned()))
    .bind(urls)
    .bind(column(|article| article.path.clone()))
    .bind(column(|article| {
        let tags: Vec<String> = article.tags.iter().map(|tag| storable(tag)).collect();
        serde_json::to_string(&tags).expect("strings always serialise")
    }))
    .execute(connection)
    .await?;
    Ok(())
}

async fn insert_passages(
    connection: &mut PgConnection,
    app: &str,
    number: i64,
    passages: &[&Passage],
) -> Result<(), sqlx::Error> {
    let articles: Vec<&str> = passages.iter().map(|passage| passage.article_id.as_str()).collect();
    let ordinals: Vec<i32> =
        passages.iter().map(|passage| i32::try_from(passage.ordinal).unwrap_or(i32::MAX)).collect();
    let ids: Vec<String> = passages.iter().map(|passage| passage.id.to_string()).collect();
    let bodies: Vec<String> = passages.iter().map(|passage| passage_text(passage)).collect();
    sqlx::query(
        "INSERT INTO catalog.passage (app, article_id, from_generation, ordinal, passage_id, body)
         SELECT $1, article_id, $2, ordinal, passage_id, body
         FROM unnest($3::text[], $4::integer[], $5::text[], $6::text[])
             AS row (article_id, ordinal, passage_id, body)",
    )
    .bind(app)
    .bind(number)
    .bind(articles)
    .bind(ordinals)
    .bind(ids)
    .bind(bodies)
    .execute(connection)
    .await?;
    Ok(())
}

/// Postgres stores no NUL. What answers are made of is JSON, where it is written as an escape.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
