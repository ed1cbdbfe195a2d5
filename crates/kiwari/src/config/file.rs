//! The settings as written: the shape of `config/default.toml`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use domain::AppName;
use serde::{Deserialize, Serialize};

use super::LogFormat;
use super::duration::Written;

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) server: Server,
    pub(crate) data: Data,
    pub(crate) log: Log,
    pub(crate) question: Question,
    pub(crate) answer: Answer,
    pub(crate) budget: Budget,
    pub(crate) search: Search,
    pub(crate) apps: BTreeMap<AppName, App>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    pub(crate) bind: SocketAddr,
    pub(crate) public: bool,
    pub(crate) trust_envoy_timeout: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    pub(crate) dir: PathBuf,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) format: LogFormat,
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
    pub(crate) embed: Written,
    pub(crate) vector: Written,
    pub(crate) retrieval_cutoff: Written,
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
    pub(crate) embed: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vector: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retrieval_cutoff: Option<Written>,
}

impl Budget {
    /// These shares with an app's own over them.
    pub(crate) fn with(&self, app: &AppBudget) -> Self {
        Self {
            total: app.total.unwrap_or(self.total),
            reserve: app.reserve.unwrap_or(self.reserve),
            embed: app.embed.unwrap_or(self.embed),
            vector: app.vector.unwrap_or(self.vector),
            retrieval_cutoff: app.retrieval_cutoff.unwrap_or(self.retrieval_cutoff),
        }
    }
}
