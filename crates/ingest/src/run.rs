//! One indexing run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use analysis::Profile;
use articles::{SPLITTER_VERSION, SplitSettings, split};
use catalog::{Catalog, Changes, Publication, Published, Recipe};
use deadline::CpuPool;
use domain::{AppName, Article, Embedder, GenerationId, Passage};
use search::{Generation, GenerationError, VectorFile};

use crate::diff::{Split, Tally, diff};
use crate::parts::{self, KeywordBasis, Material};
use crate::vectors::{Embedding, PASSAGE_TEXT_VERSION, vectors_of};
use crate::{DataDir, IngestError};

/// What to index.
#[derive(Debug)]
pub struct Job {
    pub app: AppName,
    /// All articles of the app; those that are published and not among them are removed.
    pub articles: Vec<Article>,
    pub split: SplitSettings,
    pub embedder: Arc<dyn Embedder>,
    /// Calls to the embedder at once.
    pub calls_at_once: usize,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Splitting,
    Embedding { done: usize, total: usize },
    Writing,
    Publishing,
}

/// What a run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The generation that is published now.
    pub generation: u64,
    /// Whether this run published it; `false`: nothing had changed.
    pub published: bool,
    pub articles: u64,
    pub passages: u64,
    pub added: u64,
    pub changed: u64,
    pub removed: u64,
    pub unchanged: u64,
    /// Passages that went through the embedder.
    pub embedded: u64,
}

/// Runs `job` and publishes what has changed.
///
/// # Errors
///
/// [`IngestError`]; the published generation is as it was.
pub async fn run(
    data: &DataDir,
    catalog: &Catalog,
    job: Job,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Summary, IngestError> {
    if job.articles.is_empty() {
        return Err(IngestError::NoArticles { app: job.app });
    }
    let _lock = data.lock(&job.app)?;
    let previous = catalog.newest_of(&job.app).await?;
    progress(Progress::Splitting);
    let (articles, settings) = (job.articles, job.split);
    let articles = blocking(move || Ok(split_all(articles, settings))).await?;
    let passages: Vec<Passage> =
        articles.iter().flat_map(|(_, passages)| passages.clone()).collect();
    let profile = Profile::of_collection(
        passages.iter().map(|passage| (passage.text.as_str(), passage.lang)),
    );
    let recipe = Recipe {
        embedder: job.embedder.id().clone(),
        splitter: SPLITTER_VERSION,
        passage_text: PASSAGE_TEXT_VERSION,
        analyser: analyser(profile),
    };
    let same_epoch = previous
        .as_ref()
        .filter(|previous| previous.recipe == recipe)
        .filter(|previous| still_opens(data, previous));
    let hashes = match &previous {
        Some(_) => catalog.content_hashes(&job.app).await?,
        None => BTreeMap::new(),
    };
    let (changes, tally) = diff(&articles, &hashes);
    if let Some(previous) = same_epoch
        && changes.written.is_empty()
        && changes.removed.is_empty()
    {
        sweep(data, previous, None);
        return Ok(summary(previous, false, tally, 0));
    }
    let published = Published {
        id: next_id(&job.app, previous.as_ref(), same_epoch.is_some()),
        recipe,
        articles: count(articles.len()),
        passages: count(passages.len()),
        published_at: SystemTime::now(),
    };

    let carried = carried_vectors(data, previous.as_ref(), &published);
    let embedding = Embedding { embedder: &job.embedder, calls_at_once: job.calls_at_once };
    let (vectors, embedded) = vectors_of(&passages, carried.as_ref(), embedding, progress).await?;

    progress(Progress::Writing);
    let keyword = match same_epoch {
        Some(previous) => derive_keyword(data, catalog, previous, &changes).await?,
        None => KeywordBasis::Nothing(profile),
    };
    let folder = data.generation(&job.app, published.id.number);
    let embedder = published.recipe.embedder.clone();
    let material = Material { folder, keyword, embedder, passages, vectors };
    blocking(move || parts::write(&material)).await?;

    progress(Progress::Publishing);
    verify(data, &published)?;
    // In a new epoch every article is written anew, so that its passages are the new splitter's.
    let changes =
        if same_epoch.is_some() { changes } else { Changes { written: articles, ..changes } };
    let publication = Publication { published, changes };
    catalog.publish(&publication).await?;
    let published = publication.published;
    sweep(data, &published, previous.as_ref());
    Ok(summary(&published, true, tally, embedded))
}

/// What decides how words are cut, and how both indexes are laid out: a newer Kiwari builds anew.
fn analyser(profile: Profile) -> String {
    let profile = serde_json::to_string(&profile).expect("a profile is plain strings");
    format!(
        "{profile} words/{} keyword/{} vectors/{}",
        analysis::VERSION,
        search::keyword::FORMAT,
        search::vector::FORMAT
    )
}

/// Whether the published parts can be built upon. If they are damaged or gone, everything is built anew,
/// which is what whoever runs `kiwari index` wants.
fn still_opens(data: &DataDir, previous: &Published) -> bool {
    open(data, previous)
        .inspect_err(|error| {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                "the published index does not open; building it anew"
            );
        })
        .is_ok()
}

fn open(data: &DataDir, published: &Published) -> Result<Generation, GenerationError> {
    let id = published.id.clone();
    let folder = data.generation(&id.app, id.number);
    let embedder = published.recipe.embedder.clone();
    Generation::open(&folder, id, embedder, published.articles, CpuPool::per_core())
}

fn split_all(articles: Vec<Article>, settings: SplitSettings) -> Vec<Split> {
    let with_passages = |article: Article| {
        let passages = split(&article, settings);
        (article, passages)
    };
    articles.into_iter().map(with_passages).collect()
}

fn next_id(app: &AppName, previous: Option<&Published>, same_epoch: bool) -> GenerationId {
    let number = previous.map_or(1, |previous| previous.id.number + 1);
    let epoch = previous.map_or(1, |previous| previous.id.epoch + u32::from(!same_epoch));
    GenerationId { app: app.clone(), epoch, number }
}

/// The previous vectors, if they are of the same model and the same kind of text. A file that does not
/// open costs time, not correctness: everything is embedded again.
fn carried_vectors(
    data: &DataDir,
    previous: Option<&Published>,
    next: &Published,
) -> Option<VectorFile> {
    let previous = previous.filter(|previous| {
        previous.recipe.embedder == next.recipe.embedder
            && previous.recipe.passage_text == next.recipe.passage_text
    })?;
    let path = data.generation(&previous.id.app, previous.id.number).vectors();
    VectorFile::open(&path)
        .inspect_err(|error| {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                "the previous vectors cannot be read; embedding every passage again"
            );
        })
        .ok()
}

/// The previous keyword index and what to change in it. Passages that an article's new version shares
/// with its old one stay.
async fn derive_keyword(
    data: &DataDir,
    catalog: &Catalog,
    previous: &Published,
    changes: &Changes,
) -> Result<KeywordBasis, IngestError> {
    let app = &previous.id.app;
    let touched =
        changes.removed.iter().chain(changes.written.iter().map(|(article, _)| &article.id));
    let mut removed = Vec::new();
    for article in touched {
        removed.extend(catalog.passage_ids(app, article).await?);
    }
    let written = changes.written.iter().flat_map(|(_, passages)| passages.clone()).collect();
    let folder = data.generation(app, previous.id.number);
    Ok(KeywordBasis::Previous { folder, removed, written })
}

/// Opens what was written, as a server will, and counts.
fn verify(data: &DataDir, published: &Published) -> Result<(), IngestError> {
    let generation = open(data, published).map_err(IngestError::Unusable)?;
    let found = generation.keyword().passage_count();
    if found == published.passages {
        Ok(())
    } else {
        Err(IngestError::Incomplete { found, expected: published.passages })
    }
}

/// Keeps the new generation and the one before it, which running servers are still answering from.
fn sweep(data: &DataDir, published: &Published, previous: Option<&Published>) {
    let mut keep = BTreeSet::from([published.id.number]);
    keep.extend(previous.map(|previous| previous.id.number));
    if let Err(error) = data.sweep(&published.id.app, &keep) {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "old generations could not be removed; the next run will try again"
        );
    }
}

fn summary(published: &Published, is_new: bool, tally: Tally, embedded: u64) -> Summary {
    Summary {
        generation: published.id.number,
        published: is_new,
        articles: published.articles,
        passages: published.passages,
        added: tally.added,
        changed: tally.changed,
        removed: tally.removed,
        unchanged: tally.unchanged,
        embedded,
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Runs file and CPU work off the runtime's threads.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IngestError> + Send + 'static,
) -> Result<T, IngestError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| IngestError::Stopped(error.to_string()))?
}
