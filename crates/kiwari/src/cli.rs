//! The command line, as typed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use domain::{AppName, Language};

use crate::config::{EmbedderChoice, Sources};
use crate::delays::VectorDelays;

/// Help search that always answers on time: an index of your help articles, and short cited answers from
/// it within a fixed time budget.
#[derive(Debug, Parser)]
#[command(name = "kiwari", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Read settings from this file instead of ./kiwari.toml
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Keep indexes and logs here instead of in data.dir
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Index a folder of help articles (Markdown, HTML) and publish what has changed
    Index(Index),
    /// Ask one question and print the answer
    Ask(Ask),
    /// Answer over HTTP
    Serve(Serve),
    /// Index a sample help center, serve it, and show how to ask
    Demo(Demo),
    /// Print a report over the latency log
    Report(Report),
    /// Propose each stage's share of the time from the latency log, and apply it
    Calibrate(crate::commands::calibrate::Calibrate),
    /// Bring the Postgres of `DATABASE_URL` up to date
    Migrate(Migrate),
    /// Measure how well questions with known answers are answered
    Eval(Eval),
    /// Put load on a running server and measure how it answers
    Bench(crate::bench::Bench),
    /// Check the configuration, the index, and every service that answers depend on
    Doctor(Doctor),
    /// Ask the server that runs here whether it is ready, for the health checks of containers
    Healthcheck(crate::commands::healthcheck::Healthcheck),
    /// Stand in for the model APIs, with latencies and faults, for tests and benches
    Simulate(crate::commands::simulate::Simulate),
    /// Show what the cut-offs of the policy are worth, by simulation
    SimulatePolicy(crate::commands::simulate_policy::SimulatePolicy),
    /// Print the effective settings
    Config,
}

#[derive(Debug, Args)]
pub(crate) struct Index {
    /// The folder; everything below it that is Markdown or HTML is read
    pub(crate) dir: PathBuf,
    /// The app whose help this is
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) app: AppName,
    /// The language of pages that do not say and cannot be told
    #[arg(long, value_name = "LANG")]
    pub(crate) lang: Option<Language>,
    /// Put before the pages' paths to make their addresses, such as `https://help.example.com`
    #[arg(long, value_name = "URL", value_parser = base_url)]
    pub(crate) base_url: Option<String>,
    /// Embed with local, gemini, `gemini/MODEL@DIMENSIONS` or `openai/MODEL@DIMENSIONS`, instead of embed.embedder
    #[arg(long, value_name = "EMBEDDER")]
    pub(crate) embedder: Option<EmbedderChoice>,
    /// Print the summary and the problems as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The question, in quotes
    pub(crate) question: String,
    /// The app to ask, where there is more than one
    #[arg(long, value_name = "NAME")]
    pub(crate) app: Option<AppName>,
    /// The language to answer in, if it should not be told from the question
    #[arg(long, value_name = "LANG")]
    pub(crate) lang: Option<Language>,
    /// The time there is, such as 4s or 250ms; at most budget.total
    #[arg(long, value_name = "DURATION", value_parser = budget)]
    pub(crate) budget: Option<Duration>,
    /// Print what POST /v1/answer returns
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Listen here instead of on server.bind
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) bind: Option<SocketAddr>,
    /// For tests and benches: delay the vector search by the draws of a simulator, PROFILE:SEED[:TIME-SCALE]
    #[arg(long, hide = true, value_name = "DRAWS")]
    pub(crate) delay_vectors: Option<VectorDelays>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The port to listen on, on this machine only
    #[arg(long, default_value_t = 8080)]
    pub(crate) port: u16,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Which report: stages, `stage_latency`, `budget_eaters`, degradations, `answer_kinds`, `first_content`,
    /// models, slo
    pub(crate) name: String,
    /// How far back to look, such as 1h or 7d
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = humantime::parse_duration)]
    pub(crate) since: Duration,
    /// Only requests of this app
    #[arg(long, value_name = "NAME")]
    pub(crate) app: Option<AppName>,
    /// Only rows per hour, day or window, in the reports that have several of these
    #[arg(long, value_name = "PERIOD")]
    pub(crate) per: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// Only say what is missing; the exit code is 1 if anything is
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// Articles: JSON lines {id, title, text, lang}, or a folder of help pages
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) corpus: PathBuf,
    /// Questions: JSON lines {id, text, lang}
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: PathBuf,
    /// Known answers: question, article, grade, separated by tabs
    #[arg(long, value_name = "FILE")]
    pub(crate) qrels: PathBuf,
    /// Which searches to use
    #[arg(long, value_enum, default_value_t = Mode::Hybrid)]
    pub(crate) mode: Mode,
    /// Write the ranked articles here, as a TREC run
    #[arg(long, value_name = "FILE")]
    pub(crate) run: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Keyword,
    Vector,
    Hybrid,
}

impl Cli {
    /// Where this invocation's settings come from.
    pub(crate) fn sources(&self) -> Sources {
        let mut command_line = Vec::new();
        if let Some(dir) = &self.data_dir {
            command_line.push(("data.dir", dir.to_string_lossy().into_owned()));
        }
        if let Command::Serve(Serve { bind: Some(bind), .. }) = &self.command {
            command_line.push(("server.bind", bind.to_string()));
        }
        Sources { file: self.config.clone(), environment: environment(), command_line }
    }
}

/// A budget of one millisecond to a day, as the API has it.
fn budget(text: &str) -> Result<Duration, String> {
    let budget = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let ms = u64::try_from(budget.as_millis()).unwrap_or(u64::MAX);
    deadline::budget_from_ms(ms).map_err(|_| "must lie between 1ms and 1 day".to_owned())
}

/// An address that paths can be put behind.
fn base_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_plain = |rest: &str| {
        !rest.is_empty()
            && !rest.starts_with('/')
            && !rest.contains(|c: char| c.is_whitespace() || c.is_control() || "?#".contains(c))
    };
    match rest {
        Some(rest) if is_plain(rest) => Ok(text.to_owned()),
        _ => Err("must be an address such as https://help.example.com, without ? or #".to_owned()),
    }
}

/// The environment, read once. What is not Unicode is none of ours.
fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn only_addresses_that_paths_can_follow_are_base_urls() {
        for good in ["https://help.example.com", "http://localhost:3000/docs/"] {
            assert!(base_url(good).is_ok(), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "help.example.com",
            "https://",
            "https:///x",
            "https://a/?b",
            "https://a b",
        ] {
            assert!(base_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_budget_of_nothing_is_refused() {
        assert!(budget("0s").is_err() && budget("2d").is_err() && budget("soon").is_err());
        assert_eq!(budget("250ms"), Ok(Duration::from_millis(250)));
    }
}
