//! [`Config`]: the settings as relied on.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use deadline::{Allotment, Minimums};
use domain::AppName;
use normalize::Limits;
use serde::{Deserialize, Serialize};

use super::ConfigError;
use super::file::{Budget, File};

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogFormat {
    Json,
    Text,
}

/// Everything checked against everything else.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) bind: SocketAddr,
    pub(crate) public: bool,
    pub(crate) trust_envoy: bool,
    pub(crate) data_dir: PathBuf,
    pub(crate) log_format: LogFormat,
    pub(crate) question: Limits,
    pub(crate) top_k: usize,
    pub(crate) allotment: Allotment,
    /// Of the apps that have a section of their own.
    pub(crate) allotments: BTreeMap<AppName, Allotment>,
    pub(crate) search_allotment: Allotment,
    written: File,
}

/// The search per keystroke keeps little back: its response is small, and it is local.
const SEARCH_RESERVE: Duration = Duration::from_millis(10);

impl Config {
    /// Checks what was written.
    pub(super) fn check(file: File) -> Result<Self, ConfigError> {
        positive("answer.top_k", file.answer.top_k)?;
        positive("question.longest", file.question.longest)?;
        let allotment = allotment("budget", &file.budget)?;
        let mut allotments = BTreeMap::new();
        for (app, own) in &file.apps {
            let budget = file.budget.with(&own.budget);
            allotments
                .insert(app.clone(), self::allotment(&format!("apps.{app}.budget"), &budget)?);
        }
        let total = file.search.budget.0;
        let search_allotment =
            Allotment::new(total, Minimums::EMBEDDED, SEARCH_RESERVE, total, Duration::ZERO)
                .map_err(|error| invalid("search.budget", error.to_string()))?;
        Ok(Self {
            bind: file.server.bind,
            public: file.server.public,
            trust_envoy: file.server.trust_envoy_timeout,
            data_dir: file.data.dir.clone(),
            log_format: file.log.format,
            question: Limits { longest: file.question.longest },
            top_k: file.answer.top_k,
            allotment,
            allotments,
            search_allotment,
            written: file,
        })
    }

    /// The effective settings as TOML. There are no secrets among them yet that would have to be masked.
    pub(crate) fn to_toml(&self) -> String {
        toml::to_string_pretty(&self.written).expect("what was read as TOML can be written as TOML")
    }
}

fn allotment(key: &str, budget: &Budget) -> Result<Allotment, ConfigError> {
    // No model writes answers yet, so nothing is held back for one.
    let minimums =
        Minimums { embed: budget.embed.0, vector: budget.vector.0, generate: Duration::ZERO };
    Allotment::new(
        budget.total.0,
        minimums,
        budget.reserve.0,
        budget.retrieval_cutoff.0,
        Duration::ZERO,
    )
    .map_err(|error| invalid(key, error.to_string()))
}

fn positive(key: &str, number: usize) -> Result<(), ConfigError> {
    if number == 0 { Err(invalid(key, "must be at least 1".to_owned())) } else { Ok(()) }
}

fn invalid(key: &str, message: String) -> ConfigError {
    ConfigError::Invalid { key: key.to_owned(), message }
}
