//! The data directory and what is published in it.

use std::io::ErrorKind;
use std::path::Path;

use catalog::Published;
use deadline::Deadline;
use domain::{Call, Role};
use ingest::{IngestError, Stores};
use tokio::time::Duration;

use super::{Check, timed};
use crate::compose::Engine;
use crate::config::Config;
use crate::{stores, take_up};

/// How long an embedder may take for one word, far beyond any budget.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn examine(config: &Config, engine: &Engine) -> Vec<Check> {
    let mut checks = vec![directory(&config.data_dir)];
    match stores::indexed(config).await {
        Ok(stores) => {
            checks.extend(apps(&stores, engine).await);
            stores.catalog.close().await;
        }
        Err(error) => checks.push(Check::failed("catalog", error.to_string())),
    }
    checks
}

fn directory(path: &Path) -> Check {
    const NAME: &str = "data directory";
    let shown = path.display();
    match tempfile::tempfile_in(path) {
        Ok(_written) => Check::ok(NAME, format!("{shown} can be written")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Check::failed(NAME, format!("{shown} is not there; `kiwari index DIR` makes it"))
        }
        Err(error) => Check::failed(NAME, format!("{shown} cannot be written: {error}")),
    }
}

async fn apps(stores: &Stores, engine: &Engine) -> Vec<Check> {
    let published = match stores.catalog.newest().await {
        Ok(published) if published.is_empty() => {
            let detail = "nothing has been published; run `kiwari index DIR`";
            return vec![Check::failed("catalog", detail)];
        }
        Ok(published) => published,
        Err(error) => return vec![Check::failed("catalog", error.to_string())],
    };
    let mut checks = Vec::new();
    for published in published {
        match published {
            Ok(published) => {
                checks.push(timed(generation(stores, &published, engine)).await);
                checks.push(timed(embedder(&published, engine)).await);
            }
            Err(error) => checks.push(Check::failed("catalog", error.to_string())),
        }
    }
    checks
}

async fn generation(stores: &Stores, published: &Published, engine: &Engine) -> Check {
    let name = format!("app {}", published.id.app);
    match take_up::open_here(stores, published, engine).await {
        Ok(opened) => {
            let (number, passages) = (published.id.number, opened.keyword().passage_count());
            let articles = opened.articles();
            Check::ok(
                &name,
                format!("generation {number}: {articles} articles, {passages} passages"),
            )
        }
        Err(IngestError::NoCopy { number, .. }) => {
            let detail =
                format!("generation {number} has not been built here; `kiwari serve` does that");
            Check::warning(&name, detail)
        }
        Err(error) => Check::failed(&name, format!("{:#}", anyhow::Error::from(error))),
    }
}

async fn embedder(published: &Published, engine: &Engine) -> Check {
    let id = &published.recipe.embedder;
    let name = format!("embedder of app {}", published.id.app);
    let Some(embedder) = engine.embedder_of(id) else {
        let detail =
            format!("{id} cannot be called here, so keywords alone answer: set its key or address");
        return Check::warning(&name, detail);
    };
    let call = Call::background("doctor", Deadline::after(PATIENCE));
    match embedder.embed(&["password".to_owned()], Role::Query, &call).await {
        Ok(_vector) => Check::ok(&name, id.to_string()),
        Err(fault) => Check::failed(&name, format!("{id}: {}", super::apis::words(&fault))),
    }
}
