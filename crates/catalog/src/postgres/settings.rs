//! [`PgSettings`]: which Postgres.

use std::fmt;
use std::str::FromStr;

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

use crate::CatalogError;

/// Which Postgres holds the catalog. Its password is never printed.
#[derive(Clone)]
pub struct PgSettings {
    pub(crate) options: PgConnectOptions,
    /// Whether whoever comes first may bring the tables up to date; else all wait for `kiwari migrate`.
    pub migrate_at_start: bool,
}

impl PgSettings {
    /// The Postgres at `url` (`postgres://user:password@host:port/database?sslmode=…`), which is migrated at first
    /// use.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Url`].
    pub fn new(url: &str) -> Result<Self, CatalogError> {
        let options = PgConnectOptions::from_str(url).map_err(CatalogError::Url)?;
        // Statements are long, and what goes wrong with them is logged by who sent them.
        let options = options.application_name("kiwari").disable_statement_logging();
        Ok(Self { options, migrate_at_start: true })
    }
}

impl fmt::Debug for PgSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgSettings")
            .field("host", &self.options.get_host())
            .field("port", &self.options.get_port())
            .field("database", &self.options.get_database())
            .field("migrate_at_start", &self.migrate_at_start)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_never_printed() {
        let settings = PgSettings::new("postgres://kiwari:hunter2horse@db.example:6543/c").unwrap();
        let printed = format!("{settings:?}");
        assert!(printed.contains("db.example") && !printed.contains("hunter2horse"), "{printed}");
        let error = PgSettings::new("mysecret@nowhere").unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(!format!("{error}{source}").contains("mysecret"), "{error}: {source}");
    }
}
