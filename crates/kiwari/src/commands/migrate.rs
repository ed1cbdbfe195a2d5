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
    if arguments.check {
        return check(&database, catalog).await;
    }
    let mut names = postgres::migrate(&database).await?;
    names.extend(catalog::migrate(catalog).await?);
    list("applied", &names)?;
    if names.is_empty() && !say_if_newer(&database, catalog).await? {
        output::line("up to date")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails where the tables are not those of this program.
async fn check(log: &PgSettings, catalog: &catalog::PgSettings) -> anyhow::Result<ExitCode> {
    let mut missing = postgres::pending(log).await?;
    missing.extend(catalog::pending(catalog).await?);
    list("missing", &missing)?;
    let is_newer = say_if_newer(log, catalog).await?;
    if is_newer || !missing.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    output::line("up to date")?;
    Ok(ExitCode::SUCCESS)
}

fn list(done: &str, names: &[String]) -> anyhow::Result<()> {
    names.iter().try_for_each(|name| output::line(&format!("{done}: {name}")))
}

/// Whether a newer program has brought the tables further than this one knows them.
async fn say_if_newer(log: &PgSettings, catalog: &catalog::PgSettings) -> anyhow::Result<bool> {
    let versions = |versions: &[i64], of: &str| -> Vec<String> {
        versions.iter().map(|version| format!("{of}{version:04}")).collect()
    };
    let mut names = versions(&postgres::state(log).await?.newer, "");
    names.extend(versions(&catalog::newer(catalog).await?, "catalog "));
    if names.is_empty() {
        return Ok(false);
    }
    let names = names.join(", ");
    output::line(&format!("the tables are of a newer Kiwari than this one, which lacks: {names}"))?;
    Ok(true)
}
