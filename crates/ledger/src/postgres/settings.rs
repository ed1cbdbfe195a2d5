//! [`PgSettings`]: which Postgres, and how it is used.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

use super::PgError;

/// Which Postgres the log goes to, and how it is kept there. Its password is never printed.
#[derive(Clone)]
pub struct PgSettings {
    pub(crate) options: PgConnectOptions,
    /// Whether a server may bring the schema up to date by itself; else it waits for `kiwari migrate`.
    pub migrate_at_start: bool,
    /// Requests of one transaction at most.
    pub batch: usize,
    /// How long one batch may take from end to end.
    pub patience: Duration,
    /// The longest pause between two tries to reach a Postgres that is away; the first is 50 ms.
    pub longest_pause: Duration,
    /// Whole UTC days of rows that are kept besides the present one.
    pub retention_days: u16,
    /// Whole UTC days of hourly histograms that are kept; they take some 25 KB an hour and app.
    pub histogram_days: u16,
}

impl PgSettings {
    /// The Postgres at `url` (`postgres://user:password@host:port/database?sslmode=…`), used in the standard
    /// way: 30 days of rows, 400 of histograms, up to a thousand requests at once.
    ///
    /// # Errors
    ///
    /// [`PgError::Url`].
    pub fn new(url: &str) -> Result<Self, PgError> {
        let options = PgConnectOptions::from_str(url).map_err(PgError::Url)?;
        Ok(Self {
            // Statements are long, and what goes wrong with them is logged by who sent them.
            options: options.application_name("kiwari").disable_statement_logging(),
            migrate_at_start: true,
            batch: 1000,
            patience: Duration::from_secs(30),
            longest_pause: Duration::from_secs(30),
            retention_days: 30,
            histogram_days: 400,
        })
    }
}

impl fmt::Debug for PgSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgSettings")
            .field("host", &self.options.get_host())
            .field("port", &self.options.get_port())
            .field("database", &self.options.get_database())
            .field("migrate_at_start", &self.migrate_at_start)
            .field("batch", &self.batch)
            .field("patience", &self.patience)
            .field("longest_pause", &self.longest_pause)
            .field("retention_days", &self.retention_days)
            .field("histogram_days", &self.histogram_days)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_never_printed() {
        let settings =
            PgSettings::new("postgres://kiwari:hunter2horse@db.example:6543/log").unwrap();
        let printed = format!("{settings:?}");
        assert!(printed.contains("db.example") && printed.contains("6543"), "{printed}");
        assert!(!printed.contains("hunter2horse"), "{printed}");
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_it() {
        let error = PgSettings::new("mysecret@nowhere").unwrap_err();
        assert!(matches!(error, PgError::Url(_)));
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(!source.contains("mysecret"), "{source}");
    }
}
