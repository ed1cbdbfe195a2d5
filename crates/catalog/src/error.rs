//! [`CatalogError`].

use std::path::PathBuf;

use domain::AppName;
use sqlx::migrate::MigrateError;
use thiserror::Error;

/// A catalog that cannot be used, for now or at all.
#[derive(Debug, Error)]
pub enum CatalogError {
    #[error("there is no catalog at {}; run `kiwari index` first", path.display())]
    Missing { path: PathBuf },
    #[error("cannot open the catalog {}", path.display())]
    Open { path: PathBuf, source: sqlx::Error },
    #[error("cannot bring the catalog {} up to date", path.display())]
    Migrate { path: PathBuf, source: MigrateError },
    #[error("cannot use the lock {}", path.display())]
    Lock { path: PathBuf, source: std::io::Error },
    /// The address may hold a password, so it is not repeated.
    #[error("DATABASE_URL is not the address of a Postgres")]
    Url(#[source] sqlx::Error),
    #[error("cannot connect to the catalog's Postgres")]
    Connect(#[source] sqlx::Error),
    #[error("the catalog's Postgres did not answer in time")]
    TimedOut,
    #[error("cannot bring the catalog's tables in Postgres up to date")]
    MigrateServer(#[source] MigrateError),
    #[error("the catalog's Postgres lacks {} of Kiwari's migrations; run `kiwari migrate`", .0.len())]
    Pending(Vec<String>),
    #[error("cannot read from the catalog")]
    Read(#[source] sqlx::Error),
    #[error("cannot write to the catalog; nothing was published")]
    Write(#[source] sqlx::Error),
    /// Somebody else published in the meantime.
    #[error("generation {number} of app {app} is published already; nothing was changed")]
    AlreadyPublished { app: AppName, number: u64 },
    #[error("app {app} is being written by {holder}; wait for it to end")]
    Busy { app: AppName, holder: String },
    #[error(
        "the lock on app {app} was lost, as the connection to Postgres was; nothing was published"
    )]
    Lost { app: AppName },
    /// A stored value is not what was written: a newer version, or a damaged file.
    #[error("the catalog's {what} of app {app} cannot be understood")]
    Damaged { app: String, what: &'static str, source: domain::BoxError },
}
