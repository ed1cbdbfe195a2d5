//! [`Secrets`]: keys and addresses that come from the environment under the names people already use.

use std::collections::BTreeMap;

use catalog::PgSettings;
use domain::Causes;
use qdrant::{ApiKey, InvalidSettings, QdrantSettings};
use upstream::{Secret, Url};

use super::ConfigError;
use super::check::invalid;
use crate::database;

/// What the environment says of the services. Keys never print.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    /// `GEMINI_API_KEY`, else `GOOGLE_API_KEY`.
    pub(crate) gemini_key: Option<Secret>,
    pub(crate) gemini_base: Option<Url>,
    pub(crate) openai_key: Option<Secret>,
    pub(crate) openai_base: Option<Url>,
    /// `DATABASE_URL`, which holds a password.
    pub(crate) database: Option<PgSettings>,
    /// `QDRANT_URL`.
    pub(crate) qdrant: Option<String>,
    /// `QDRANT_API_KEY`.
    pub(crate) qdrant_key: Option<ApiKey>,
    pub(crate) https_proxy: Option<Url>,
    pub(crate) no_proxy: Option<String>,
}

impl Secrets {
    /// Reads what is set; blank is not set.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Invalid`] for an address that is none.
    pub(super) fn read(environment: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        let set = |name: &str| {
            environment.get(name).map(|text| text.trim()).filter(|text| !text.is_empty())
        };
        let url = |name: &str, such_as: &str| -> Result<Option<Url>, ConfigError> {
            let Some(text) = set(name) else { return Ok(None) };
            let url = Url::parse(text).ok().filter(|url| url.has_host());
            let is_web = |url: &Url| matches!(url.scheme(), "http" | "https");
            url.filter(is_web)
                .map(Some)
                .ok_or_else(|| invalid(name, format!("must be an address such as {such_as}")))
        };
        let proxy = |name: &str| url(name, "http://proxy.example.com:3128");
        let (qdrant, qdrant_key) = (set("QDRANT_URL"), set("QDRANT_API_KEY").map(ApiKey::new));
        if let Some(url) = qdrant {
            let settings =
                QdrantSettings { api_key: qdrant_key.clone(), ..QdrantSettings::at(url) };
            settings.check().map_err(|error| refused_for_qdrant(&error))?;
        }
        Ok(Self {
            gemini_key: set("GEMINI_API_KEY").or_else(|| set("GOOGLE_API_KEY")).map(Secret::new),
            gemini_base: url("GEMINI_BASE_URL", "https://generativelanguage.googleapis.com")?,
            openai_key: set("OPENAI_API_KEY").map(Secret::new),
            openai_base: url("OPENAI_BASE_URL", "https://example.com/v1")?,
            database: database::catalog(environment)?,
            qdrant: qdrant.map(str::to_owned),
            qdrant_key,
            https_proxy: proxy("HTTPS_PROXY")?.or(proxy("https_proxy")?),
            no_proxy: set("NO_PROXY").or_else(|| set("no_proxy")).map(str::to_owned),
        })
    }
}

/// What is said of settings for Qdrant that can never work, under the name of the one to mend.
pub(crate) fn refused_for_qdrant(error: &InvalidSettings) -> ConfigError {
    let name = match error {
        InvalidSettings::Url => "QDRANT_URL",
        InvalidSettings::ApiKey => "QDRANT_API_KEY",
        InvalidSettings::Tls(_) => "qdrant.ca_file",
        InvalidSettings::Prefix(_) => "qdrant.prefix",
    };
    invalid(name, Causes(error).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Secrets, ConfigError> {
        let pairs = pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Secrets::read(&pairs.collect())
    }

    #[test]
    fn googles_name_of_the_key_stands_in_for_geminis() {
        assert!(read(&[("GOOGLE_API_KEY", "k")]).unwrap().gemini_key.is_some());
        assert!(read(&[("GEMINI_API_KEY", " ")]).unwrap().gemini_key.is_none());
    }

    #[test]
    fn the_services_of_production_are_read_and_do_not_print() {
        let postgres = ("DATABASE_URL", "postgres://u:hush@db/k");
        let key = ("QDRANT_API_KEY", "hush");
        let secrets = read(&[postgres, ("QDRANT_URL", "http://q:6334"), key]).unwrap();
        assert!(secrets.database.is_some() && secrets.qdrant.is_some());
        assert!(!format!("{secrets:?}").contains("hush"), "{secrets:?}");
        for wrong in [("DATABASE_URL", "mysql://u:hush@h/d"), ("QDRANT_URL", "q:6334")] {
            let error = read(&[wrong]).unwrap_err().to_string();
            assert!(error.contains(wrong.0) && !error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_for_qdrant_is_named_and_shown_how_it_should_be() {
        let told = |url: &str, key: &str| {
            read(&[("QDRANT_URL", url), ("QDRANT_API_KEY", key)]).unwrap_err().to_string()
        };
        let error = told("http://q:6334", "hu\nsh");
        assert!(error.contains("QDRANT_API_KEY") && error.contains("line break"), "{error}");
        assert!(!error.contains("QDRANT_URL") && !error.contains("hu"), "{error}");
        for wrong in ["q:6334", "http://u:hush@q:6334", "http://q:6334/v1", "hush"] {
            let error = told(wrong, "k");
            assert!(
                error.contains("QDRANT_URL") && error.contains("http://qdrant:6334"),
                "{error}"
            );
            assert!(!error.contains("hush") && !error.contains("/v1"), "{error}");
        }
    }

    #[test]
    fn a_wrong_address_is_refused_by_name_and_keys_do_not_print() {
        let error = read(&[("OPENAI_BASE_URL", "localhost:11434")]).unwrap_err().to_string();
        assert!(error.contains("OPENAI_BASE_URL"), "{error}");
        let secrets = read(&[("OPENAI_API_KEY", "sk-hush")]).unwrap();
        assert!(!format!("{secrets:?}").contains("hush"));
    }
}
