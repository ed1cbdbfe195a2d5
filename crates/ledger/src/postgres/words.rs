//! [`Words`]: what Postgres says is wrong, once and without what only its own developers ask for.

use std::fmt;

use domain::Causes;
use sqlx::migrate::MigrateError;

/// The words of an error, with the SQLSTATE where Postgres gave one. Never a password, nor what a row holds but for
/// a value that Postgres cannot read.
pub(super) struct Words<'a, E>(pub(super) &'a E);

impl fmt::Display for Words<'_, sqlx::Error> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its own words would add a line's number: that of Postgres' source.
        if let Some(error) = self.0.as_database_error() {
            f.write_str(error.message())?;
            return error.code().map_or(Ok(()), |code| write!(f, " (SQLSTATE {code})"));
        }
        if let sqlx::Error::Io(error) = self.0 {
            return Causes(error).fmt(f);
        }
        Causes(self.0).fmt(f)
    }
}

impl fmt::Display for Words<'_, MigrateError> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let MigrateError::ExecuteMigration(error, version) = self.0 {
            return write!(f, "migration {version:04}: {}", Words(error));
        }
        if let MigrateError::Execute(error) = self.0 {
            return Words(error).fmt(f);
        }
        Causes(self.0).fmt(f)
    }
}
