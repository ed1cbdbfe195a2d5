//! Vectors where they lie: carried over from the generation before, written for the next one.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use catalog::{Published, VectorHome};
use deadline::Deadline;
use domain::{Call, Causes, Passage, PassageId, Vector};
use qdrant::{Draft, Plan, QdrantVectors, QdrantWriter};
use search::VectorFile;

use crate::{IngestError, Stores};

/// How long Qdrant may take for one step of a run.
const STEP: Duration = Duration::from_secs(1800);

/// Where the next generation's vectors are about to be written.
pub(crate) enum Target {
    /// A file, with the other parts.
    File,
    Catalog,
    Qdrant(Box<Draft>),
}

fn call(limit: Duration) -> Call {
    Call::background("index", Deadline::after(limit))
}

impl Target {
    /// Makes ready for `next`, which comes after `previous`.
    pub(crate) async fn prepare(
        stores: &Stores,
        next: &Published,
        previous: Option<&Published>,
    ) -> Result<Self, IngestError> {
        let qdrant = match (next.recipe.vectors, stores.qdrant_of(&next.recipe)) {
            (VectorHome::Qdrant, Some(qdrant)) => qdrant,
            (VectorHome::Catalog, _) => return Ok(Self::Catalog),
            (VectorHome::Files | VectorHome::Qdrant, _) => return Ok(Self::File),
        };
        let plan = Plan {
            next: next.id.clone(),
            published: previous.map(|previous| previous.id.clone()),
            dimensions: next.recipe.embedder.dimensions,
        };
        let draft = QdrantWriter::new(&qdrant).draft(&plan, &call(STEP)).await?;
        Ok(Self::Qdrant(Box::new(draft)))
    }

    /// Those of `passages` for which there has to be a vector now.
    pub(crate) async fn wanted<'a>(
        &self,
        stores: &Stores,
        next: &Published,
        passages: &'a [Passage],
    ) -> Result<Vec<&'a Passage>, IngestError> {
        match (self, stores.catalog.shared()) {
            (Self::Qdrant(draft), _) => Ok(draft.wanted(passages)),
            (Self::Catalog, Some(kept)) => {
                let space = next.recipe.space();
                let missing = kept.missing(&next.id.app, &space, &ids(passages)).await?;
                Ok(passages.iter().filter(|passage| missing.contains(&passage.id)).collect())
            }
            (Self::File | Self::Catalog, _) => Ok(passages.iter().collect()),
        }
    }

    /// Writes `vectors`, those of the wanted ones, and makes sure that all of `passages` have theirs. A file is
    /// written elsewhere, with the other parts.
    pub(crate) async fn write(
        self,
        stores: &Stores,
        next: &Published,
        passages: &[Passage],
        vectors: &HashMap<PassageId, Vector>,
    ) -> Result<(), IngestError> {
        match (self, stores.catalog.shared()) {
            (Self::Qdrant(draft), _) => {
                draft.write(passages, vectors, &call(STEP)).await?;
            }
            (Self::Catalog, Some(kept)) => {
                let (app, space) = (&next.id.app, next.recipe.space());
                kept.keep(app, &space, vectors).await?;
                let missing = kept.missing(app, &space, &ids(passages)).await?;
                check_complete(&missing, passages.len())?;
            }
            (Self::File | Self::Catalog, _) => {}
        }
        Ok(())
    }

    /// Vectors of `wanted` that are known from before: of the same model, of the same kind of text. What cannot be
    /// read costs time, not correctness: it is embedded again.
    pub(crate) async fn carried(
        &self,
        stores: &Stores,
        next: &Published,
        previous: Option<&Published>,
        wanted: &[PassageId],
    ) -> HashMap<PassageId, Vector> {
        let mut carried = self.of_draft(wanted).await.unwrap_or_else(|error| unread(&error));
        if let Some(previous) =
            previous.filter(|previous| previous.recipe.space() == next.recipe.space())
        {
            let missing: Vec<PassageId> =
                wanted.iter().filter(|id| !carried.contains_key(id)).copied().collect();
            let of_previous = of_previous(stores, previous, &missing).await;
            carried.extend(of_previous.unwrap_or_else(|error| unread(&error)));
        }
        carried
    }

    /// What the epoch holds already: passages that come back, or have other tags now.
    async fn of_draft(
        &self,
        wanted: &[PassageId],
    ) -> Result<HashMap<PassageId, Vector>, IngestError> {
        match self {
            Self::Qdrant(draft) => Ok(draft.holdings().vectors_of(wanted, &call(STEP)).await?),
            Self::File | Self::Catalog => Ok(HashMap::new()),
        }
    }
}

async fn of_previous(
    stores: &Stores,
    previous: &Published,
    wanted: &[PassageId],
) -> Result<HashMap<PassageId, Vector>, IngestError> {
    let app = &previous.id.app;
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    match (previous.recipe.vectors, stores.qdrant_of(&previous.recipe), stores.catalog.shared()) {
        (VectorHome::Files, _, None) => {
            let file = VectorFile::open(&stores.folder(previous).vectors())?;
            let of = |id: &PassageId| Some((*id, file.vector_of(*id)?));
            Ok(wanted.iter().filter_map(of).collect())
        }
        (VectorHome::Catalog, _, Some(kept)) => {
            Ok(kept.find(app, &previous.recipe.space(), wanted).await?)
        }
        (VectorHome::Qdrant, Some(qdrant), _) => {
            let holdings = QdrantWriter::new(&qdrant).holdings(&previous.id, &call(STEP)).await?;
            let Some(holdings) = holdings else { return Ok(HashMap::new()) };
            Ok(holdings.vectors_of(wanted, &call(STEP)).await?)
        }
        _ => Ok(HashMap::new()),
    }
}

fn unread(error: &IngestError) -> HashMap<PassageId, Vector> {
    tracing::warn!(
        error = %Causes(error),
        "the previous vectors cannot be read; embedding them again"
    );
    HashMap::new()
}

/// Whether all vectors of `published` are where they should be, as Qdrant says within `limit`, or the catalog; those
/// in a file are looked at with the other parts.
///
/// # Errors
///
/// [`IngestError`] if nobody can say. A Qdrant that is away is no reason to build everything anew.
pub async fn vectors_are_complete(
    stores: &Stores,
    published: &Published,
    limit: Duration,
) -> Result<bool, IngestError> {
    let found = match (
        published.recipe.vectors,
        stores.qdrant_of(&published.recipe),
        stores.catalog.shared(),
    ) {
        (VectorHome::Qdrant, Some(qdrant), _) => {
            let (id, embedder) = (published.id.clone(), &published.recipe.embedder);
            let vectors = QdrantVectors::new(&qdrant, id, embedder, published.passages);
            match vectors.count(&call(limit)).await {
                Err(error) if error.is_not_found() => 0,
                other => other?,
            }
        }
        (VectorHome::Catalog, _, Some(kept)) => {
            kept.count(&published.id, &published.recipe.space()).await?
        }
        _ => published.passages,
    };
    Ok(found == published.passages)
}

fn ids(passages: &[Passage]) -> Vec<PassageId> {
    passages.iter().map(|passage| passage.id).collect()
}

fn check_complete(missing: &HashSet<PassageId>, passages: usize) -> Result<(), IngestError> {
    if missing.is_empty() {
        return Ok(());
    }
    let found = u64::try_from(passages.saturating_sub(missing.len())).unwrap_or(u64::MAX);
    Err(IngestError::Incomplete { found, expected: u64::try_from(passages).unwrap_or(u64::MAX) })
}
