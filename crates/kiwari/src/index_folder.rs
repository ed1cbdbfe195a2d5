//! From a folder of help pages to a published generation.

use std::path::Path;

use anyhow::{Context, bail};
use articles::{Problem, ReadOptions, Reading, SplitSettings, read_folder};
use domain::{AppName, EmbedderId};
use ingest::{Job, Progress, Stores, Summary};

use crate::compose::Engine;
use crate::config::EmbedderChoice;
use crate::stores::holder;

/// What came of a folder.
#[derive(Debug)]
pub(crate) struct Indexed {
    pub(crate) summary: Summary,
    pub(crate) files_seen: usize,
    pub(crate) empty: Vec<String>,
    pub(crate) problems: Vec<Problem>,
}

/// How far it has come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Reading { done: usize, total: usize },
    Indexing(Progress),
}

/// Calls to a remote embedder at once: enough to hide the round trips, few enough for the smallest plans.
const REMOTE_CALLS: usize = 4;

/// Calls to the embedder at once; each of the local one runs on one core.
pub(crate) fn calls_at_once(embedder: &EmbedderId) -> usize {
    if embedder.is_local() {
        std::thread::available_parallelism().map_or(1, usize::from)
    } else {
        REMOTE_CALLS
    }
}

/// Reads `folder` and publishes what has changed for `app`.
pub(crate) async fn index_folder(
    engine: &Engine,
    stores: &Stores,
    app: AppName,
    folder: &Path,
    options: ReadOptions,
    embedder: &EmbedderChoice,
    progress: impl Fn(Step) + Clone + Send + Sync + 'static,
) -> anyhow::Result<Indexed> {
    let reading = read(folder, options, progress.clone()).await?;
    if reading.articles.is_empty() {
        bail!(no_articles(folder, &reading));
    }
    let published = stores.catalog.newest_of(&app).await?;
    let published = published.as_ref().map(|published| &published.recipe.embedder);
    let embedder = engine.embedder(embedder, published).await?;
    let Reading { articles, problems, files_seen, empty } = reading;
    let job = Job {
        app,
        articles,
        split: SplitSettings::standard(),
        calls_at_once: calls_at_once(embedder.id()),
        embedder,
    };
    let holder = holder("kiwari index");
    let summary =
        ingest::run(stores, job, &holder, &move |at| progress(Step::Indexing(at))).await?;
    Ok(Indexed { summary, files_seen, empty, problems })
}

async fn read(
    folder: &Path,
    options: ReadOptions,
    progress: impl Fn(Step) + Send + 'static,
) -> anyhow::Result<Reading> {
    let folder = folder.to_owned();
    let reading = tokio::task::spawn_blocking(move || {
        read_folder(&folder, &options, &mut |at| {
            progress(Step::Reading { done: at.files_done, total: at.files_total });
        })
    });
    Ok(reading.await.context("the reader was stopped")??)
}

/// Says what was there instead.
fn no_articles(folder: &Path, reading: &Reading) -> String {
    let mut text = format!(
        "{} holds no articles: {} Markdown or HTML files seen, {} empty, {} problems; \
         the index is as it was",
        folder.display(),
        reading.files_seen,
        reading.empty.len(),
        reading.problems.len()
    );
    for problem in reading.problems.iter().take(5) {
        text.push_str(&format!("\n  {problem}"));
    }
    text
}
