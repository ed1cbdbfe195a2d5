//! [`CatalogError`].

use std::path::PathBuf;

use domain::AppName;
use sqlx::migrate::MigrateError;
use thiserror::Error;

/// A catalog that cannot be used.
#[derive(Debug, Error)]
pub enum CatalogError {
    #[error("there is no catalog at {}; run `kiwari index` first", path.display())]
    Missing { path: PathBuf },
    #[error("cannot open the catalog {}", path.display())]
    Open { path: PathBuf, source: sqlx::Error },
    #[error("cannot bring the catalog {} up to date", path.display())]
    Migrate { path: PathBuf, source: MigrateError },
    #[error("cannot read from the catalog")]
    Read(#[source] sqlx::Error),
    #[error("cannot write to the catalog; nothing was published")]
    Write(#[source] sqlx::Error),
    /// Somebody else published in the meantime.
    #[error("generation {number} of app {app} is published already; nothing was changed")]
    AlreadyPublished { app: AppName, number: u64 },
    /// A stored value is not what was written: a newer version, or a damaged file.
    #[error("the catalog's {what} of app {app} cannot be understood")]
    Damaged { app: String, what: &'static str, source: domain::BoxError },
}
