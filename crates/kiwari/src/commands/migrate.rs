//! `kiwari migrate`.

use std::process::ExitCode;

use anyhow::bail;
use ledger::{PgSettings, postgres};

use crate::cli::Migrate;
use crate::config::Config;
use crate::output;

pub(crate) async fn run(
    config: &Config,
    arguments: &Migrate,
    database: Option<PgSettings>,
) -> anyhow::Result<ExitCode> {
    let (Some(database), Some(catalog)) = (database, &config.secrets.database) else {
        bail!("DATABASE_URL is not set; without it everything is in SQLite, which migrates itself");
    };
    let (mut names, done) = if arguments.check {
        (postgres::pending(&database).await?, "missing")
    } else {
        (postgres::migrate(&database).await?, "applied")
    };
    names.extend(if arguments.check {
        catalog::pending(catalog).await?
    } else {
        catalog::migrate(catalog).await?
    });
    for name in &names {
        output::line(&format!("{done}: {name}"))?;
    }
    if names.is_empty() {
        output::line("up to date")?;
    }
    let is_behind = arguments.check && !names.is_empty();
    Ok(if is_behind { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
