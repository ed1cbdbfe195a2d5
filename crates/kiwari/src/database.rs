//! The Postgres that `DATABASE_URL` names.

use std::collections::BTreeMap;

use ledger::PgSettings;

use crate::config::ConfigError;

const NAME: &str = "DATABASE_URL";

/// The Postgres of this environment; `None` where none is named.
///
/// # Errors
///
/// [`ConfigError::Invalid`] for an address that is none.
pub(crate) fn settings(
    environment: &BTreeMap<String, String>,
) -> Result<Option<PgSettings>, ConfigError> {
    let Some(url) = environment.get(NAME).map(|url| url.trim()).filter(|url| !url.is_empty())
    else {
        return Ok(None);
    };
    let is_postgres = url.starts_with("postgres://") || url.starts_with("postgresql://");
    match PgSettings::new(url) {
        Ok(settings) if is_postgres => Ok(Some(settings)),
        // The address may hold a password: it is not repeated.
        _ => Err(ConfigError::Invalid {
            key: NAME.to_owned(),
            message: "must be an address such as postgres://user:password@host:5432/database"
                .to_owned(),
        }),
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
