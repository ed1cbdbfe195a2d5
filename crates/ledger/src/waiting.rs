//! [`Waiting`]: what lies in the file.

use std::time::{Duration, SystemTime};

use crate::entry::unix_micros;
use crate::{LedgerError, Store};

/// What lies in the file: all there is of the log, or what has yet to arrive in Postgres.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub requests: u64,
    /// When the oldest was received, in microseconds since the Unix epoch.
    oldest_us: Option<i64>,
}

impl Waiting {
    /// How long ago the oldest request was received; `None` where there is none.
    #[must_use]
    pub fn age(&self, now: SystemTime) -> Option<Duration> {
        let age = unix_micros(now).saturating_sub(self.oldest_us?);
        Some(Duration::from_micros(u64::try_from(age).unwrap_or(0)))
    }
}

impl Store {
    /// How much there is.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Read`].
    pub async fn waiting(&self) -> Result<Waiting, LedgerError> {
        let (requests, oldest_us): (i64, Option<i64>) =
            sqlx::query_as("SELECT count(*), min(received_at_us) FROM request_log")
                .fetch_one(self.pool())
                .await
                .map_err(LedgerError::Read)?;
        Ok(Waiting { requests: u64::try_from(requests).unwrap_or(0), oldest_us })
    }
}
