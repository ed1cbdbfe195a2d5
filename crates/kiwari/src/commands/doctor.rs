//! `kiwari doctor`.

use std::process::ExitCode;

use crate::cli::Doctor;
use crate::config::Config;
use crate::doctor::{Check, State, examine};
use crate::output;

pub(crate) async fn run(config: &Config, arguments: &Doctor) -> anyhow::Result<ExitCode> {
    let checks = examine(config).await;
    if arguments.json {
        output::json(&checks)?;
    } else {
        checks.iter().try_for_each(|check| output::line(&line(check)))?;
    }
    let failed = checks.iter().any(|check| check.state == State::Failed);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn line(check: &Check) -> String {
    let state = match check.state {
        State::Ok => "ok     ",
        State::Warning => "warning",
        State::Failed => "failed ",
    };
    let took = check.ms.map_or(String::new(), |ms| format!(" ({ms:.0} ms)"));
    format!("{state}  {}: {}{took}", check.name, check.detail)
}
