//! `kiwari doctor`.

use std::process::ExitCode;
use std::time::Duration;

use ledger::PgSettings;

use crate::cli::Doctor;
use crate::config::{Changed, Config, ConfigError};
use crate::doctor::{Check, Report, State, examine};
use crate::{doctor, output};

pub(crate) async fn run(
    config: &Config,
    changed: &[Changed],
    arguments: &Doctor,
    database: Option<&PgSettings>,
) -> anyhow::Result<ExitCode> {
    let report = examine(config, changed, database).await;
    print(&report, arguments)?;
    let failed = report.verdict == State::Failed;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// With settings that cannot be used, they are all there is to tell.
pub(crate) fn refused(error: &ConfigError, arguments: &Doctor) -> anyhow::Result<()> {
    print(&Report::new(vec![doctor::refused(error)], Duration::ZERO), arguments)
}

fn print(report: &Report, arguments: &Doctor) -> anyhow::Result<()> {
    if arguments.json {
        return output::json(report);
    }
    let width = report.checks.iter().map(|check| check.name().len()).max().unwrap_or_default();
    report.checks.iter().try_for_each(|check| output::line(&line(check, width)))?;
    output::line("")?;
    output::line(&last(report))
}

fn line(check: &Check, width: usize) -> String {
    let state = match check.state {
        State::Ok => "ok     ",
        State::Skipped => "skipped",
        State::Warning => "warning",
        State::Failed => "failed ",
    };
    let took = check.ms.map_or(String::new(), |ms| format!(" ({ms:.0} ms)"));
    let advice = check.advice.as_ref().map_or(String::new(), |advice| format!("; {advice}"));
    format!("{state}  {:width$}  {}{advice}{took}", check.name(), check.detail)
}

fn last(report: &Report) -> String {
    match &report.first {
        None => "Everything is well.".to_owned(),
        Some(first) if report.verdict == State::Failed => format!("Do this first: {first}"),
        Some(first) => format!("It works. Do this when you can: {first}"),
    }
}
