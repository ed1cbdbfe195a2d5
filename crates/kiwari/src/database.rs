//! The Postgres that `DATABASE_URL` names.

use std::collections::BTreeMap;

use ledger::PgSettings;

use crate::config::ConfigError;

const NAME: &str = "DATABASE_URL";

/// The Postgres of this environment for the latency log; `None` where none is named.
///
/// # Errors
///
/// [`ConfigError::Invalid`] for an address that is none.
pub(crate) fn settings(
    environment: &BTreeMap<String, String>,
) -> Result<Option<PgSettings>, ConfigError> {
    address(environment)?.map(|url| PgSettings::new(url).map_err(|_| no_address())).transpose()
}

/// The same, for the catalog.
///
/// # Errors
///
/// [`ConfigError::Invalid`] for an address that is none.
pub(crate) fn catalog(
    environment: &BTreeMap<String, String>,
) -> Result<Option<catalog::PgSettings>, ConfigError> {
    let settings = |url| catalog::PgSettings::new(url).map_err(|_| no_address());
    address(environment)?.map(settings).transpose()
}

fn address(environment: &BTreeMap<String, String>) -> Result<Option<&str>, ConfigError> {
    let Some(url) = environment.get(NAME).map(|url| url.trim()).filter(|url| !url.is_empty())
    else {
        return Ok(None);
    };
    let is_postgres = url.starts_with("postgres://") || url.starts_with("postgresql://");
    if is_postgres { Ok(Some(url)) } else { Err(no_address()) }
}

/// The address may hold a password: it is not repeated.
fn no_address() -> ConfigError {
    ConfigError::Invalid {
        key: NAME.to_owned(),
        message: "must be an address such as postgres://user:password@host:5432/database"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Result<Option<PgSettings>, ConfigError> {
        settings(&BTreeMap::from([(NAME.to_owned(), url.to_owned())]))
    }

    #[test]
    fn an_address_of_another_kind_is_refused_by_name_without_its_text() {
        for wrong in ["mysql://u:hush@h/d", "hush", "postgres://u:hush@h:port/d"] {
            let message = of(wrong).unwrap_err().to_string();
            assert!(message.contains(NAME) && !message.contains("hush"), "{message}");
        }
    }

    #[test]
    fn blank_is_not_set() {
        assert!(of(" ").unwrap().is_none() && settings(&BTreeMap::new()).unwrap().is_none());
        assert!(of("postgres://u:p@h/d").unwrap().is_some());
    }
}
