//! `kiwari bench`.

use std::process::ExitCode;

use crate::bench::{self, Bench};
use crate::output;

/// Fails if any request failed or was late.
pub(crate) async fn run(arguments: &Bench) -> anyhow::Result<ExitCode> {
    let figures = bench::run(arguments).await?;
    if arguments.json {
        output::json(&figures)?;
    } else {
        output::line(&bench::for_people(&figures))?;
    }
    Ok(if figures.are_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
