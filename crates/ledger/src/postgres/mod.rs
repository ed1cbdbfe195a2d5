//! The latency log in Postgres: connecting, migrating, writing batches, keeping partitions and histograms.

mod batch;
mod look;
mod maintenance;
mod migrations;
mod session;
mod settings;
mod trouble;
mod words;

use sqlx::migrate::MigrateError;
use thiserror::Error;

pub(crate) use batch::{Delivered, deliver};
pub(crate) use maintenance::{Maintained, maintain};
pub(crate) use session::{Session, connect};
use words::Words;

pub use look::{ClockOffset, LogState, Look, ServerState, look};
pub use migrations::{State, migrate, pending, state};
pub use settings::PgSettings;
pub use trouble::Trouble;

/// A Postgres that cannot be used, for now or at all. What Postgres said is part of the words, not a source of its own.
#[derive(Debug, Error)]
pub enum PgError {
    #[error("DATABASE_URL is not the address of a Postgres")]
    Url(#[source] sqlx::Error),
    #[error("cannot connect to Postgres: {}", Words(.0))]
    Connect(sqlx::Error),
    #[error("Postgres did not answer in time")]
    TimedOut,
    #[error("cannot migrate Postgres: {}", Words(.0))]
    Migrate(MigrateError),
    #[error("Postgres lacks {} of Kiwari's migrations; run `kiwari migrate`", .0.len())]
    Pending(Vec<String>),
    #[error("cannot write the latency log to Postgres: {}", Words(.0))]
    Write(sqlx::Error),
    /// Rows wait that it should take, as far as our clock can tell.
    #[error(
        "the first day that Postgres keeps is {days} days from now, so a clock was wrong; its own is {ahead_s} s ahead of ours"
    )]
    Floor { days: i64, ahead_s: i64 },
    #[error("cannot read from Postgres: {}", Words(.0))]
    Read(sqlx::Error),
    #[error("cannot keep Postgres's partitions and histograms up to date: {}", Words(.0))]
    Maintain(sqlx::Error),
}

/// What is wrong with a value, whichever table it goes to: too long, out of range, of no known encoding, no JSON. The rest
/// of class 22 is about statements.
const BAD_VALUES: [&str; 13] = [
    "22001", "22003", "22007", "22008", "22015", "22021", "22030", "22031", "22032", "22033",
    "22P02", "22P03", "22P05",
];

const NOT_NULL: &str = "23502";

/// Partitions are called after their tables.
const LOGS: [&str; 3] = ["request_log", "stage_log", "call_log"];

impl PgError {
    /// Whether Postgres understood the rows and will not take them, however often it is asked. In doubt it might take
    /// them another time.
    pub(crate) fn is_refusal(&self) -> bool {
        let Self::Write(sqlx::Error::Database(error)) = self else { return false };
        let Some(code) = error.code() else { return false };
        // Class 23 without a constraint's name: there is no partition. With one that is not of the log's tables: Postgres'
        // own books.
        let is_of_log =
            error.table().is_some_and(|table| LOGS.iter().any(|log| table.starts_with(log)));
        let breaks_rule =
            code == NOT_NULL || (code.starts_with("23") && error.constraint().is_some());
        BAD_VALUES.contains(&&*code) || (is_of_log && breaks_rule)
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
