//! `kiwari migrate`.

use std::process::ExitCode;

use anyhow::bail;
use ledger::{PgSettings, postgres};

use crate::cli::Migrate;
use crate::output;

pub(crate) async fn run(
    arguments: &Migrate,
    database: Option<PgSettings>,
) -> anyhow::Result<ExitCode> {
    let Some(database) = database else {
        bail!("DATABASE_URL is not set; without it the logs are in SQLite, which migrates itself");
    };
    let (names, done) = if arguments.check {
        (postgres::pending(&database).await?, "missing")
    } else {
        (postgres::migrate(&database).await?, "applied")
    };
    for name in &names {
        output::line(&format!("{done}: {name}"))?;
    }
    if names.is_empty() {
        output::line("up to date")?;
    }
    let is_behind = arguments.check && !names.is_empty();
    Ok(if is_behind { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
