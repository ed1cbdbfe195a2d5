//! One indexing run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use analysis::Profile;
use articles::{SPLITTER_VERSION, SplitSettings, split};
use catalog::{CatalogError, Changes, Publication, Published, Recipe, VectorHome, Writer};
use deadline::{CpuPool, Deadline};
use domain::{
    AppName, Article, Call, Causes, Embedder, EmbedderId, GenerationId, Passage, PassageId, Vector,
};
use qdrant::QdrantWriter;

use crate::copy::profile_of;
use crate::data_dir::sweep;
use crate::diff::{Split, Tally, diff};
use crate::home::Target;
use crate::parts::{self, FileVectors, KeywordBasis, Material};
use crate::vectors::{Embedding, PASSAGE_TEXT_VERSION, vectors_of};
use crate::{IngestError, Stores, open, tidy, vectors_are_complete};

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

/// How long another writer is waited for, and how often it is looked whether it has ended.
const TURN: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How long Qdrant may take to count.
const COUNT: Duration = Duration::from_secs(30);
/// How long Qdrant may take to set an alias.
const LEAD: Duration = Duration::from_secs(10);

/// How often a run makes sure that it still has the right to write.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// Runs `job` and publishes what has changed. `holder` tells others who come meanwhile whose run it is.
///
/// # Errors
///
/// [`IngestError`]; the published generation is as it was.
pub async fn run(
    stores: &Stores,
    job: Job,
    holder: &str,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Summary, IngestError> {
    if job.articles.is_empty() {
        return Err(IngestError::NoArticles { app: job.app });
    }
    let mut writer = take_turn(stores, &job.app, holder).await?;
    let outcome = write(stores, job, &mut *writer, progress).await;
    writer.release().await;
    outcome
}

/// Servers tidy up for a moment now and then, which is waited for.
async fn take_turn(
    stores: &Stores,
    app: &AppName,
    holder: &str,
) -> Result<Box<dyn Writer>, IngestError> {
    let patience = Deadline::after(TURN);
    loop {
        match stores.catalog.writer(app, holder).await {
            Err(CatalogError::Busy { .. }) if !patience.remaining().is_zero() => {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            other => return Ok(other?),
        }
    }
}

async fn write(
    stores: &Stores,
    job: Job,
    writer: &mut dyn Writer,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Summary, IngestError> {
    // A run without the right to write must not go on beside the next one.
    let prepared = tokio::select! {
        prepared = prepare(stores, job, progress) => prepared?,
        lost = lost(writer) => return Err(lost.into()),
    };
    let Next { publication, previous, tally, embedded } = match prepared {
        Prepared::Next(next) => *next,
        Prepared::Unchanged(summary) => return Ok(summary),
    };
    progress(Progress::Publishing);
    writer.publish(&publication).await?;
    let published = publication.published;
    after(stores, &published, previous.as_ref(), writer).await;
    Ok(summary(&published, true, tally, embedded))
}

/// Returns when the right to write is lost.
async fn lost(writer: &mut dyn Writer) -> CatalogError {
    loop {
        tokio::time::sleep(CHECK_EVERY).await;
        if let Err(lost) = writer.check().await {
            return lost;
        }
    }
}

/// What a run is about to do.
enum Prepared {
    Unchanged(Summary),
    Next(Box<Next>),
}

/// A generation whose parts are complete where they lie.
struct Next {
    publication: Publication,
    previous: Option<Published>,
    tally: Tally,
    embedded: u64,
}

/// What is to become of what is published.
struct Plan {
    published: Published,
    previous: Option<Published>,
    /// Whether it goes on with the previous one's epoch.
    continues: bool,
    profile: Profile,
    changes: Changes,
    tally: Tally,
}

async fn prepare(
    stores: &Stores,
    job: Job,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Prepared, IngestError> {
    progress(Progress::Splitting);
    let Job { app, articles, split, embedder, calls_at_once } = job;
    let articles = blocking(move || Ok(split_all(articles, split))).await?;
    let passages: Vec<Passage> =
        articles.iter().flat_map(|(_, passages)| passages.clone()).collect();
    let plan = plan(stores, app, embedder.id(), &articles, &passages).await?;
    if let Some(previous) = plan.previous.as_ref().filter(|_| plan.changes_nothing()) {
        sweep_parts(stores, previous, None);
        return Ok(Prepared::Unchanged(summary(previous, false, plan.tally, 0)));
    }
    let embedding = Embedding { embedder: &embedder, calls_at_once };
    let embedded = make(stores, &plan, passages, embedding, progress).await?;
    let Plan { published, previous, continues, changes, tally, .. } = plan;
    // In a new epoch every article is written anew, so that its passages are the new splitter's.
    let changes = if continues { changes } else { Changes { written: articles, ..changes } };
    let publication = Publication { published, changes };
    Ok(Prepared::Next(Box::new(Next { publication, previous, tally, embedded })))
}

async fn plan(
    stores: &Stores,
    app: AppName,
    embedder: &EmbedderId,
    articles: &[Split],
    passages: &[Passage],
) -> Result<Plan, IngestError> {
    let catalog = &*stores.catalog;
    let previous = catalog.newest_of(&app).await?;
    let profile = profile_of(passages);
    let vectors = stores.vector_home();
    let owner = match vectors {
        VectorHome::Qdrant => Some(catalog.identity().await?),
        VectorHome::Files | VectorHome::Catalog => None,
    };
    let recipe = Recipe {
        embedder: embedder.clone(),
        splitter: SPLITTER_VERSION,
        passage_text: PASSAGE_TEXT_VERSION,
        analyser: analyser(profile),
        vectors,
        owner,
    };
    let continues = match previous.as_ref().filter(|previous| previous.recipe == recipe) {
        Some(previous) => is_whole(stores, previous).await?,
        None => false,
    };
    let hashes = match &previous {
        Some(_) => catalog.content_hashes(&app).await?,
        None => BTreeMap::new(),
    };
    let (changes, tally) = diff(articles, &hashes);
    let published = Published {
        id: next_id(&app, previous.as_ref(), continues),
        recipe,
        articles: count(articles.len()),
        passages: count(passages.len()),
        published_at: SystemTime::now(),
    };
    Ok(Plan { published, previous, continues, profile, changes, tally })
}

impl Plan {
    fn changes_nothing(&self) -> bool {
        self.continues && self.changes.written.is_empty() && self.changes.removed.is_empty()
    }
}

/// Makes everything that the planned generation consists of, short of publishing it; how many passages had to be
/// embedded.
async fn make(
    stores: &Stores,
    plan: &Plan,
    passages: Vec<Passage>,
    embedding: Embedding<'_>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<u64, IngestError> {
    let (published, previous) = (&plan.published, plan.previous.as_ref());
    let target = Target::prepare(stores, published, previous).await?;
    let wanted = target.wanted(stores, published, &passages).await?;
    let ids: Vec<_> = wanted.iter().map(|passage| passage.id).collect();
    let carried = target.carried(stores, published, previous, &ids).await;
    let (vectors, embedded) = vectors_of(wanted, carried, embedding, progress).await?;

    progress(Progress::Writing);
    target.write(stores, published, &passages, &vectors).await?;
    if !stores.is_shared() {
        let keyword = match previous.filter(|_| plan.continues) {
            Some(previous) => derive_keyword(stores, previous, &plan.changes).await?,
            None => KeywordBasis::Nothing(plan.profile),
        };
        write_parts(stores, published, keyword, passages, vectors).await?;
    }
    Ok(embedded)
}

/// Writes the parts that lie beside the catalog, and opens and counts them as a server will.
async fn write_parts(
    stores: &Stores,
    published: &Published,
    keyword: KeywordBasis,
    passages: Vec<Passage>,
    vectors: HashMap<PassageId, Vector>,
) -> Result<(), IngestError> {
    let embedder = published.recipe.embedder.clone();
    let in_file = published.recipe.vectors == VectorHome::Files;
    let vectors = in_file.then_some(FileVectors { embedder, vectors });
    let folder = stores.folder(published);
    let material = Material { folder, keyword, passages, vectors };
    let (stores, published) = (stores.clone(), published.clone());
    blocking(move || {
        parts::write(&material)?;
        verify(&stores, &published)
    })
    .await
}

/// What need not be done for the generation to be published. Nothing here can fail it any more.
async fn after(
    stores: &Stores,
    published: &Published,
    previous: Option<&Published>,
    writer: &dyn Writer,
) {
    sweep_parts(stores, published, previous);
    if let Some(qdrant) = stores.qdrant_of(&published.recipe) {
        let call = Call::background("index", Deadline::after(LEAD));
        if let Err(error) = QdrantWriter::new(&qdrant).lead_people_to(&published.id, &call).await {
            let error = Causes(&error);
            tracing::warn!(%error, "Qdrant's alias for people was not set");
        }
    }
    if let Err(error) = tidy(stores, &published.id.app, writer).await {
        let error = Causes(&error);
        tracing::warn!(%error, "old vectors could not be removed; that is tried again");
    }
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
async fn is_whole(stores: &Stores, previous: &Published) -> Result<bool, IngestError> {
    if !vectors_are_complete(stores, previous, COUNT).await? {
        tracing::warn!("published vectors are missing; building everything anew");
        return Ok(false);
    }
    // What hosts have built for themselves is theirs to mend.
    if stores.is_shared() {
        return Ok(true);
    }
    let (stores, previous) = (stores.clone(), previous.clone());
    blocking(move || Ok(still_opens(&stores, &previous))).await
}

fn still_opens(stores: &Stores, previous: &Published) -> bool {
    open(stores, previous, CpuPool::per_core())
        .inspect_err(|error| {
            tracing::warn!(
                error = %Causes(error),
                "the published index does not open; building it anew"
            );
        })
        .is_ok()
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

/// The previous keyword index and what to change in it. Passages that an article's new version shares
/// with its old one stay.
async fn derive_keyword(
    stores: &Stores,
    previous: &Published,
    changes: &Changes,
) -> Result<KeywordBasis, IngestError> {
    let touched =
        changes.removed.iter().chain(changes.written.iter().map(|(article, _)| &article.id));
    let touched: Vec<_> = touched.cloned().collect();
    let removed = stores.catalog.passage_ids(&previous.id.app, &touched).await?;
    let written = changes.written.iter().flat_map(|(_, passages)| passages.clone()).collect();
    Ok(KeywordBasis::Previous { folder: stores.folder(previous), removed, written })
}

/// Opens what was written, as a server will, and counts.
fn verify(stores: &Stores, published: &Published) -> Result<(), IngestError> {
    let found = open(stores, published, CpuPool::per_core())?.keyword().passage_count();
    if found == published.passages {
        Ok(())
    } else {
        Err(IngestError::Incomplete { found, expected: published.passages })
    }
}

/// Keeps the new generation and the one before it, which running servers are still answering from.
fn sweep_parts(stores: &Stores, published: &Published, previous: Option<&Published>) {
    if stores.is_shared() {
        return;
    }
    let mut keep = BTreeSet::from([published.id.number]);
    keep.extend(previous.map(|previous| previous.id.number));
    if let Err(error) = sweep(&stores.data.generations(&published.id.app), &keep) {
        tracing::warn!(
            error = %Causes(&error),
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
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IngestError> + Send + 'static,
) -> Result<T, IngestError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| IngestError::Stopped(error.to_string()))?
}
