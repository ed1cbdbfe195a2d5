//! [`Session`]: one connection, every exchange on it bounded.

use std::time::Duration;

use deadline::Deadline;
use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions, Connection};

use super::{PgError, PgSettings};

/// How long connecting may take, signing in included.
const CONNECT: Duration = Duration::from_secs(5);

/// What a statement may take before the server gives it up, and what it may wait for a lock. And what was committed
/// survives a crash of the server even where it would rather be quick: it is removed from the outbox.
const LIMITS: &str = "
    SELECT set_config('statement_timeout', '20s', false), set_config('lock_timeout', '5s', false),
           set_config('TimeZone', 'UTC', false),
           CASE current_setting('synchronous_commit')
               WHEN 'off' THEN set_config('synchronous_commit', 'on', false)
           END";

/// One connection, with limits of its own on the server.
#[derive(Debug)]
pub(crate) struct Session(pub(crate) PgConnection);

/// Connects by [`CONNECT`] from now.
///
/// # Errors
///
/// [`PgError::Connect`], [`PgError::TimedOut`].
pub(crate) async fn connect(settings: &PgSettings) -> Result<Session, PgError> {
    let connecting = async {
        let mut connection = settings.options.connect().await?;
        sqlx::query(LIMITS).execute(&mut connection).await?;
        Ok(Session(connection))
    };
    bounded(CONNECT, connecting).await?.map_err(PgError::Connect)
}

/// Runs `work`, for no longer than `limit`.
pub(super) async fn bounded<F: Future>(limit: Duration, work: F) -> Result<F::Output, PgError> {
    Deadline::after(limit).run(work).await.map_err(|_out_of_time| PgError::TimedOut)
}

impl Session {
    /// Says goodbye, if that can be done at once.
    pub(crate) async fn end(self) {
        let _gone = bounded(Duration::from_secs(1), self.0.close()).await;
    }
}
