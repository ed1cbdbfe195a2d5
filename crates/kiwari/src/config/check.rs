//! [`Config`]: the settings as relied on.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use deadline::{Allotment, Minimums};
use generate::ModelSettings;
use normalize::Limits;
use qdrant::Prefix;
use serde::{Deserialize, Serialize};

use super::ConfigError;
use super::embedder::EmbedderChoice;
use super::file::{self, Breaker, File, Generate, Qdrant};
use super::ledger::LedgerSettings;
use super::secrets::Secrets;
use super::shares::ConfiguredShares;

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
    /// Whether metrics and reports are served.
    pub(crate) operations: bool,
    pub(crate) data_dir: PathBuf,
    pub(crate) migrate_at_start: bool,
    pub(crate) qdrant: Qdrant,
    pub(crate) log_format: LogFormat,
    pub(crate) ledger: LedgerSettings,
    pub(crate) question: Limits,
    pub(crate) top_k: usize,
    pub(crate) shares: ConfiguredShares,
    pub(crate) generate: Generate,
    pub(crate) models: BTreeMap<String, ModelSettings>,
    pub(crate) embedder: EmbedderChoice,
    pub(crate) query_prefix: String,
    pub(crate) passage_prefix: String,
    pub(crate) ask_for_dimensions: bool,
    pub(crate) breaker: Breaker,
    pub(crate) calibration: Calibration,
    pub(crate) secrets: Secrets,
    pub(crate) search_allotment: Allotment,
    written: File,
}

/// Whether and when shares are calibrated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calibration {
    /// How often what has been applied is looked for; `None`: never.
    pub(crate) look_every: Option<Duration>,
    /// Since midnight UTC; `None`: servers do not calibrate by themselves.
    pub(crate) daily_at: Option<Duration>,
}

/// Looking more often would only burden the database.
const LEAST_LOOK: Duration = Duration::from_secs(1);

/// The search per keystroke keeps little back: its response is small, and it is local.
const SEARCH_RESERVE: Duration = Duration::from_millis(10);

impl Config {
    /// Checks what was written.
    pub(super) fn check(file: File, secrets: Secrets) -> Result<Self, ConfigError> {
        positive("answer.top_k", file.answer.top_k)?;
        positive("question.longest", file.question.longest)?;
        positive("generate.answer_tokens", file.generate.answer_tokens as usize)?;
        let prefix: Result<Prefix, _> = file.qdrant.prefix.parse();
        prefix.map_err(|error| invalid("qdrant.prefix", error.to_string()))?;
        let shares = ConfiguredShares::check(&file)?;
        let total = file.search.budget.0;
        let search_allotment =
            Allotment::new(total, Minimums::EMBEDDED, SEARCH_RESERVE, total, Duration::ZERO)
                .map_err(|error| invalid("search.budget", error.to_string()))?;
        Ok(Self {
            bind: file.server.bind,
            public: file.server.public,
            trust_envoy: file.server.trust_envoy_timeout,
            operations: file.server.operations,
            data_dir: file.data.dir.clone(),
            migrate_at_start: file.database.migrate_at_start,
            qdrant: file.qdrant.clone(),
            log_format: file.log.format,
            ledger: LedgerSettings::check(&file.ledger)?,
            question: Limits { longest: file.question.longest },
            top_k: file.answer.top_k,
            shares,
            generate: file.generate.clone(),
            models: file.models.clone(),
            embedder: file.embed.embedder.clone(),
            query_prefix: file.embed.query_prefix.clone(),
            passage_prefix: file.embed.passage_prefix.clone(),
            ask_for_dimensions: file.embed.ask_for_dimensions,
            breaker: file.upstream.breaker,
            calibration: Calibration::check(&file.calibration)?,
            secrets,
            search_allotment,
            written: file,
        })
    }

    /// The effective settings as TOML. Keys are in the environment alone, so that none is among them.
    pub(crate) fn to_toml(&self) -> String {
        toml::to_string_pretty(&self.written).expect("what was read as TOML can be written as TOML")
    }
}

impl Calibration {
    fn check(written: &file::Calibration) -> Result<Self, ConfigError> {
        let look_every = written.look_every.0;
        if look_every < LEAST_LOOK {
            return Err(invalid("calibration.look_every", "must be at least 1s".to_owned()));
        }
        let daily_at = match written.daily_at.as_str() {
            "" => None,
            text => Some(time_of_day(text).ok_or_else(|| {
                let message = "must be a time of day such as 03:30, or empty";
                invalid("calibration.daily_at", message.to_owned())
            })?),
        };
        Ok(Self { look_every: written.follow.then_some(look_every), daily_at })
    }
}

/// `HH:MM` since midnight.
fn time_of_day(text: &str) -> Option<Duration> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, below: u64| -> Option<u64> {
        let is_plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is_plain && *number < below)
    };
    Some(Duration::from_secs(number(hours, 24)? * 3600 + number(minutes, 60)? * 60))
}

fn positive(key: &str, number: usize) -> Result<(), ConfigError> {
    if number == 0 { Err(invalid(key, "must be at least 1".to_owned())) } else { Ok(()) }
}

pub(super) fn invalid(key: &str, message: String) -> ConfigError {
    ConfigError::Invalid { key: key.to_owned(), message }
}
