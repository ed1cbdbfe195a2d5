//! Bringing the schema up to date.

use std::time::Duration;

use sqlx::migrate::{Migration, Migrator};
use sqlx::postgres::{PgConnection, PgPoolOptions};

use super::session::{bounded, connect};
use super::{PgError, PgSettings};

/// How long all migrations together may take, waiting for another process's included.
const MIGRATE: Duration = Duration::from_secs(3600);
const LOOK: Duration = Duration::from_secs(10);

/// Every migration of the log there is; ones that a newer Kiwari has applied are none of ours.
fn migrator() -> Migrator {
    let mut migrator = sqlx::migrate!("../../migrations/postgres/ledger");
    migrator.set_ignore_missing(true);
    migrator
}

/// Applies the migrations that are missing, one process at a time, and gives their names.
///
/// # Errors
///
/// [`PgError`]; what was applied before stays.
pub async fn migrate(settings: &PgSettings) -> Result<Vec<String>, PgError> {
    let missing = pending(settings).await?;
    let connecting = PgPoolOptions::new().max_connections(1).connect_with(settings.options.clone());
    let pool = bounded(LOOK, connecting).await?.map_err(PgError::Connect)?;
    bounded(MIGRATE, migrator().run(&pool)).await?.map_err(PgError::Migrate)?;
    bounded(LOOK, pool.close()).await?;
    Ok(missing)
}

/// How far a database is.
#[derive(Debug)]
pub struct State {
    /// The names of the migrations that are missing.
    pub pending: Vec<String>,
    /// The versions of those that a newer program has applied.
    pub newer: Vec<i64>,
}

/// The names of the migrations that are missing.
///
/// # Errors
///
/// [`PgError`].
pub async fn pending(settings: &PgSettings) -> Result<Vec<String>, PgError> {
    state(settings).await.map(|state| state.pending)
}

/// How far the database is.
///
/// # Errors
///
/// [`PgError`].
pub async fn state(settings: &PgSettings) -> Result<State, PgError> {
    let mut session = connect(settings).await?;
    let state = bounded(LOOK, state_of(&mut session.0)).await?.map_err(PgError::Read)?;
    session.end().await;
    Ok(state)
}

pub(super) async fn state_of(connection: &mut PgConnection) -> Result<State, sqlx::Error> {
    let applied = applied(connection).await?;
    let all = migrator();
    let missing = all.iter().filter(|migration| !applied.contains(&migration.version));
    let name =
        |migration: &Migration| format!("{:04} {}", migration.version, migration.description);
    let pending = missing.map(name).collect();
    let newer = applied.into_iter().filter(|version| !all.version_exists(*version)).collect();
    Ok(State { pending, newer })
}

/// The versions that have been applied; none where no migration ever ran.
async fn applied(connection: &mut PgConnection) -> Result<Vec<i64>, sqlx::Error> {
    let exists = "SELECT to_regclass('_sqlx_migrations') IS NOT NULL";
    if !sqlx::query_scalar::<_, bool>(exists).fetch_one(&mut *connection).await? {
        return Ok(Vec::new());
    }
    sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success")
        .fetch_all(connection)
        .await
}
