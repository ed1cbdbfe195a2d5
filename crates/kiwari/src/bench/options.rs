//! [`Bench`]: the command's arguments.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use domain::AppName;

use super::client::Target;
use super::schedule::Rate;

#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("load").required(true))]
pub(crate) struct Bench {
    /// The server, without a path
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) url: Target,
    /// Questions: one a line; or .tsv or .jsonl with a column or field `question` (or else `text`)
    #[arg(long, value_name = "FILE")]
    pub(crate) questions: PathBuf,
    /// Requests a second, sent when planned, whether earlier ones have been answered or not
    #[arg(long, value_name = "PER_SECOND", group = "load")]
    pub(crate) rate: Option<Rate>,
    /// Instead of a rate: as many requests under way at any time
    #[arg(long, value_name = "N", group = "load")]
    pub(crate) concurrency: Option<NonZeroUsize>,
    /// How many requests in all
    #[arg(long, value_name = "N")]
    pub(crate) count: NonZeroU64,
    /// Decides order and moments; request n is named bench-SEED-n
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How requests at a rate are spread over time
    #[arg(long, value_enum, default_value_t = Arrivals::Poisson)]
    pub(crate) arrivals: Arrivals,
    /// The budget that requests ask for, in milliseconds
    #[arg(long, value_name = "MS", value_parser = budget_ms)]
    pub(crate) budget_ms: Option<u64>,
    /// The app to ask, where there is more than one
    #[arg(long, value_name = "NAME")]
    pub(crate) app: Option<AppName>,
    /// Ask for event streams
    #[arg(long)]
    pub(crate) stream: bool,
    /// Write what came of each request here, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub(crate) requests: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How requests at a rate are spread over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arrivals {
    /// As from many users who know nothing of each other
    Poisson,
    /// At equal distances
    Even,
}

/// Beyond the budget, how long a reply is waited for before its request counts as failed. Long enough to see how
/// late a late one is.
const PATIENCE: Duration = Duration::from_secs(30);

impl Bench {
    /// The longest that one exchange may take.
    pub(super) fn patience(&self) -> Duration {
        self.budget_ms.map_or(PATIENCE, |ms| PATIENCE + Duration::from_millis(ms))
    }
}

fn budget_ms(text: &str) -> Result<u64, String> {
    let ms = text.parse().map_err(|_| "must be whole milliseconds".to_owned())?;
    deadline::budget_from_ms(ms).map(|_budget| ms).map_err(|error| error.to_string())
}
