//! `kiwari config`.

use std::process::ExitCode;

use crate::config::Config;
use crate::output;

pub(crate) fn run(config: &Config) -> anyhow::Result<ExitCode> {
    output::line(config.to_toml().trim_end())?;
    Ok(ExitCode::SUCCESS)
}
