//! The latency log in Postgres: connecting, migrating, writing batches, keeping partitions and histograms.

mod batch;
mod look;
mod maintenance;
mod migrations;
mod session;
mod settings;
mod trouble;

use sqlx::migrate::MigrateError;
use thiserror::Error;

pub(crate) use batch::{Delivered, deliver};
pub(crate) use maintenance::{Maintained, maintain};
pub(crate) use session::{Session, connect};

pub use look::{ClockOffset, LogState, Look, ServerState, look};
pub use migrations::{migrate, pending};
pub use settings::PgSettings;
pub use trouble::Trouble;

/// A Postgres that cannot be used, for now or at all.
#[derive(Debug, Error)]
pub enum PgError {
    #[error("DATABASE_URL is not the address of a Postgres")]
    Url(#[source] sqlx::Error),
    #[error("cannot connect to Postgres")]
    Connect(#[source] sqlx::Error),
    #[error("Postgres did not answer in time")]
    TimedOut,
    #[error("cannot migrate Postgres")]
    Migrate(#[source] MigrateError),
    #[error("Postgres lacks {} of Kiwari's migrations; run `kiwari migrate`", .0.len())]
    Pending(Vec<String>),
    #[error("cannot write the latency log to Postgres")]
    Write(#[source] sqlx::Error),
    #[error("cannot read from Postgres")]
    Read(#[source] sqlx::Error),
    #[error("cannot keep Postgres's partitions and histograms up to date")]
    Maintain(#[source] sqlx::Error),
}

impl PgError {
    /// Whether Postgres understood the rows and will not take them, however often it is asked.
    pub(crate) fn is_refusal(&self) -> bool {
        let Self::Write(sqlx::Error::Database(error)) = self else { return false };
        // Data exceptions and violated constraints.
        error.code().is_some_and(|code| code.starts_with("22") || code.starts_with("23"))
    }

    /// Whether less at once might have been done in time.
    pub(crate) fn is_out_of_time(&self) -> bool {
        // Given up by us, or cancelled by the server's statement_timeout.
        let is_cancelled = |error: &sqlx::Error| {
            error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("57014"))
        };
        matches!(self, Self::TimedOut) || matches!(self, Self::Write(error) if is_cancelled(error))
    }
}
