//! The settings as written: the shape of `config/default.toml`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use domain::AppName;
use generate::ModelSettings;
use serde::{Deserialize, Serialize};

use super::LogFormat;
use super::duration::{Share, Written};
use super::embedder::EmbedderChoice;

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) server: Server,
    pub(crate) data: Data,
    pub(crate) database: Database,
    pub(crate) qdrant: Qdrant,
    pub(crate) log: Log,
    pub(crate) ledger: Ledger,
    pub(crate) question: Question,
    pub(crate) answer: Answer,
    pub(crate) budget: Budget,
    pub(crate) generate: Generate,
    pub(crate) embed: Embed,
    pub(crate) upstream: Upstream,
    pub(crate) calibration: Calibration,
    pub(crate) models: BTreeMap<String, ModelSettings>,
    pub(crate) search: Search,
    pub(crate) apps: BTreeMap<AppName, App>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    pub(crate) bind: SocketAddr,
    pub(crate) public: bool,
    pub(crate) trust_envoy_timeout: bool,
    pub(crate) operations: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    pub(crate) dir: PathBuf,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Database {
    pub(crate) migrate_at_start: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Qdrant {
    pub(crate) prefix: String,
    pub(crate) ca_file: String,
    pub(crate) vectors_on_disk: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) format: LogFormat,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ledger {
    pub(crate) keep_days: u16,
    pub(crate) histogram_days: u16,
    pub(crate) flush_every: Written,
    pub(crate) batch: usize,
    pub(crate) queue: usize,
    pub(crate) ship_batch: usize,
    pub(crate) longest_pause: Written,
    pub(crate) outbox_days: u16,
    pub(crate) outbox_megabytes: u64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    pub(crate) longest: usize,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) top_k: usize,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    pub(crate) total: Written,
    pub(crate) reserve: Written,
    pub(crate) embed: Share,
    pub(crate) vector: Share,
    pub(crate) generate: Share,
    pub(crate) retrieval_cutoff: Written,
    pub(crate) first_token_cutoff: Written,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Generate {
    pub(crate) provider: Provider,
    pub(crate) model: String,
    pub(crate) lighter_model: String,
    pub(crate) answer_tokens: u32,
    pub(crate) long_input_tokens: u64,
}

/// Who writes answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Provider {
    Auto,
    Gemini,
    Openai,
    Off,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Embed {
    pub(crate) embedder: EmbedderChoice,
    pub(crate) query_prefix: String,
    pub(crate) passage_prefix: String,
    pub(crate) ask_for_dimensions: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Upstream {
    pub(crate) breaker: Breaker,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calibration {
    pub(crate) follow: bool,
    pub(crate) look_every: Written,
    pub(crate) daily_at: String,
}

/// What a breaker is allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Breaker {
    Off,
    Observe,
    Enforce,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    pub(crate) budget: Written,
}

/// What one app has of its own.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct App {
    pub(crate) budget: AppBudget,
}

/// What is `None` is taken from [`Budget`].
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AppBudget {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reserve: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) embed: Option<Share>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vector: Option<Share>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) generate: Option<Share>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retrieval_cutoff: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first_token_cutoff: Option<Written>,
}

impl Budget {
    /// These shares with an app's own over them.
    pub(crate) fn with(&self, app: &AppBudget) -> Self {
        Self {
            total: app.total.unwrap_or(self.total),
            reserve: app.reserve.unwrap_or(self.reserve),
            embed: app.embed.unwrap_or(self.embed),
            vector: app.vector.unwrap_or(self.vector),
            generate: app.generate.unwrap_or(self.generate),
            retrieval_cutoff: app.retrieval_cutoff.unwrap_or(self.retrieval_cutoff),
            first_token_cutoff: app.first_token_cutoff.unwrap_or(self.first_token_cutoff),
        }
    }
}
