//! Bringing the schema `catalog` up to date.

use std::time::Duration;

use sqlx::migrate::{Migration, Migrator};
use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions, Connection};

use super::{CONNECT, LOOK, PgSettings, bounded, read};
use crate::CatalogError;

/// How long all migrations together may take, waiting for another process's included.
const MIGRATE: Duration = Duration::from_secs(3600);

/// Every migration there is; ones that a newer Kiwari has applied are none of ours. The latency log has migrations
/// of its own in the same database.
fn migrator() -> Migrator {
    let mut migrator = sqlx::migrate!("../../migrations/postgres/catalog");
    migrator.set_ignore_missing(true);
    migrator.create_schema("catalog");
    migrator.dangerous_set_table_name("catalog._sqlx_migrations");
    migrator
}

/// Applies the catalog's migrations that are missing, one process at a time, and gives their names.
///
/// # Errors
///
/// [`CatalogError`]; what was applied before stays.
pub async fn migrate(settings: &PgSettings) -> Result<Vec<String>, CatalogError> {
    let mut connection = connect(settings).await?;
    let missing = missing(&mut connection).await?;
    let migrating = async { Ok(migrator().run_direct(None, &mut connection, false).await) };
    let migrated = bounded(MIGRATE, migrating).await?.map_err(CatalogError::Connect)?;
    migrated.map_err(CatalogError::MigrateServer)?;
    goodbye(connection).await;
    Ok(missing)
}

/// The versions that a newer program has applied to the catalog.
///
/// # Errors
///
/// [`CatalogError`].
pub async fn newer(settings: &PgSettings) -> Result<Vec<i64>, CatalogError> {
    let mut connection = connect(settings).await?;
    let applied = read(LOOK, applied(&mut connection)).await?;
    goodbye(connection).await;
    let known = migrator();
    Ok(applied.into_iter().filter(|version| !known.version_exists(*version)).collect())
}

/// The names of the catalog's migrations that are missing.
///
/// # Errors
///
/// [`CatalogError`].
pub async fn pending(settings: &PgSettings) -> Result<Vec<String>, CatalogError> {
    let mut connection = connect(settings).await?;
    let missing = missing(&mut connection).await?;
    goodbye(connection).await;
    Ok(missing)
}

/// Whether the catalog's schema can be made by whoever asks; asked for even where it is there.
///
/// # Errors
///
/// [`CatalogError`].
pub async fn may_create(settings: &PgSettings) -> Result<bool, CatalogError> {
    let mut connection = connect(settings).await?;
    let asking = "SELECT has_database_privilege(current_database(), 'CREATE')";
    let may_create = read(LOOK, sqlx::query_scalar(asking).fetch_one(&mut connection)).await?;
    goodbye(connection).await;
    Ok(may_create)
}

pub(super) async fn connect(settings: &PgSettings) -> Result<PgConnection, CatalogError> {
    bounded(CONNECT, settings.options.connect()).await?.map_err(CatalogError::Connect)
}

async fn missing(connection: &mut PgConnection) -> Result<Vec<String>, CatalogError> {
    let applied = read(LOOK, applied(connection)).await?;
    let all = migrator();
    let missing = all.iter().filter(|migration| !applied.contains(&migration.version));
    let name = |migration: &Migration| {
        format!("catalog {:04} {}", migration.version, migration.description)
    };
    Ok(missing.map(name).collect())
}

/// The versions that have been applied; none where no migration ever ran.
async fn applied(connection: &mut PgConnection) -> Result<Vec<i64>, sqlx::Error> {
    let exists = "SELECT to_regclass('catalog._sqlx_migrations') IS NOT NULL";
    if !sqlx::query_scalar::<_, bool>(exists).fetch_one(&mut *connection).await? {
        return Ok(Vec::new());
    }
    sqlx::query_scalar("SELECT version FROM catalog._sqlx_migrations WHERE success")
        .fetch_all(connection)
        .await
}

async fn goodbye(connection: PgConnection) {
    let _gone = bounded(Duration::from_secs(1), connection.close()).await;
}
