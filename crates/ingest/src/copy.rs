//! Copies: the parts of generations of a shared catalog, built by each host for itself.
//!
//! A copy is built in a folder beside the others and takes its name when it is complete, so a process killed in
//! between leaves nothing that could be mistaken for one. In it lies what it is a copy of: numbers begin anew when a
//! database does.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use analysis::Profile;
use catalog::{Difference, KeptVectors, Published, VectorHome};
use domain::{Causes, Passage, PassageId, Vector};
use search::{GenerationFolder, KeywordIndex, VectorFile};
use serde::{Deserialize, Serialize};

use crate::data_dir::{CopyLock, numbers_in, sweep};
use crate::parts::{self, FileVectors, KeywordBasis, Material};
use crate::run::blocking;
use crate::{DataDir, IngestError, Stores};

/// What lies in a copy's folder and says what it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Label {
    published: Published,
    /// How this program cut words then; another one is asked in other words.
    words: u32,
}

impl Label {
    fn of(published: &Published) -> Self {
        Self { published: published.clone(), words: analysis::VERSION }
    }

    fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(LABEL)).ok()?).ok()
    }
}

const LABEL: &str = "generation.json";

/// Whether `folder` holds a copy of just this generation that this program can ask.
pub(crate) fn is_of(folder: &Path, published: &Published) -> bool {
    Label::read(folder) == Some(Label::of(published))
}

/// The newest copy of each app in the data directory, for when the catalog cannot be asked.
#[must_use]
pub fn copies(data: &DataDir) -> Vec<Published> {
    let newest = |app| copies_of(data, &app).into_iter().next_back();
    data.copied_apps().into_iter().filter_map(newest).collect()
}

/// Those of one app, oldest first.
fn copies_of(data: &DataDir, app: &domain::AppName) -> Vec<Published> {
    let label = |number| Label::read(data.copy(app, number).path());
    let labels = numbers_in(&data.copies(app)).into_iter().filter_map(label);
    let usable = labels.filter(|label| *label == Label::of(&label.published));
    usable.map(|label| label.published).collect()
}

/// Builds this host's copy of `published`, from the newest older one if that is of the same epoch. The copy before
/// it stays, as requests may still be on it.
///
/// # Errors
///
/// [`IngestError::Building`] if another process is at it, others as it goes; there is no copy then.
pub async fn build_copy(stores: &Stores, published: &Published) -> Result<(), IngestError> {
    let app = &published.id.app;
    let lock = stores.data.lock_copies(app)?;
    let basis = basis(stores, published).await?;
    // Requests may still be on the one before, whatever its epoch.
    let before = copies_of(&stores.data, app).into_iter().map(|copy| copy.id.number);
    let before = before.filter(|number| *number < published.id.number).max();
    let keep = BTreeSet::from_iter(before.into_iter().chain([published.id.number]));
    match &basis {
        Some(basis) => {
            let derived = build(stores, published, Some(basis), &lock).await;
            if let Err(error) = &derived {
                tracing::warn!(
                    error = %Causes(error),
                    "an older copy cannot be built upon; building anew"
                );
                build(stores, published, None, &lock).await?;
            }
        }
        None => build(stores, published, None, &lock).await?,
    }
    let folder = stores.data.copies(app);
    blocking(move || {
        let _held = lock;
        sweep(&folder, &keep)
    })
    .await
}

/// The newest copy that `published` can be built from.
async fn basis(stores: &Stores, published: &Published) -> Result<Option<Published>, IngestError> {
    let app = &published.id.app;
    let basis = copies_of(&stores.data, app).into_iter().rfind(|copy| {
        copy.id.number < published.id.number
            && copy.id.epoch == published.id.epoch
            && copy.recipe == published.recipe
    });
    let Some(basis) = basis else { return Ok(None) };
    let on_record = stores.catalog.since(app, basis.id.number).await?;
    Ok(Some(basis).filter(|basis| on_record.first() == Some(basis)))
}

async fn build(
    stores: &Stores,
    published: &Published,
    basis: Option<&Published>,
    lock: &CopyLock,
) -> Result<(), IngestError> {
    let unfinished = stores.data.unfinished_copy(&published.id.app);
    let finished = stores.data.copy(&published.id.app, published.id.number);
    let material = gather(stores, published, basis, unfinished).await?;
    let (label, lock) = (Label::of(published), lock.clone());
    blocking(move || {
        let _held = lock;
        parts::write(&material)?;
        finish(&material.folder, &finished, &label)
    })
    .await
}

async fn gather(
    stores: &Stores,
    published: &Published,
    basis: Option<&Published>,
    folder: GenerationFolder,
) -> Result<Material, IngestError> {
    let catalog = &*stores.catalog;
    let kept = catalog.shared().filter(|_| published.recipe.vectors == VectorHome::Catalog);
    let basis_folder = basis.map(|basis| stores.folder(basis));
    let passages = match (basis, kept) {
        // What has changed is enough.
        (Some(_), None) => Vec::new(),
        (None, _) | (_, Some(_)) => catalog.passages(&published.id).await?,
    };
    let vectors = match kept {
        Some(kept) => {
            let previous = basis_folder.as_ref();
            let vectors = gather_vectors(kept, published, previous, &passages).await?;
            Some(FileVectors { embedder: published.recipe.embedder.clone(), vectors })
        }
        None => None,
    };
    let keyword = match (basis, basis_folder) {
        (Some(basis), Some(folder)) => {
            let Difference { removed, written } =
                catalog.difference(basis.id.number, &published.id).await?;
            KeywordBasis::Previous { folder, removed, written }
        }
        _ => KeywordBasis::Nothing(profile_of(&passages)),
    };
    Ok(Material { folder, keyword, passages, vectors })
}

/// The profile of a collection, as the run that published it found it.
pub(crate) fn profile_of(passages: &[Passage]) -> Profile {
    Profile::of_collection(passages.iter().map(|passage| (passage.text.as_str(), passage.lang)))
}

/// The vectors of `passages`: from the older copy where it has them, else from the catalog.
async fn gather_vectors(
    kept: &dyn KeptVectors,
    published: &Published,
    previous: Option<&GenerationFolder>,
    passages: &[Passage],
) -> Result<HashMap<PassageId, Vector>, IngestError> {
    let previous = previous.and_then(|folder| VectorFile::open(&folder.vectors()).ok());
    let carried = |passage: &Passage| Some((passage.id, previous.as_ref()?.vector_of(passage.id)?));
    let mut vectors: HashMap<PassageId, Vector> = passages.iter().filter_map(carried).collect();
    let missing: Vec<PassageId> =
        passages.iter().map(|passage| passage.id).filter(|id| !vectors.contains_key(id)).collect();
    let (app, space) = (&published.id.app, published.recipe.space());
    vectors.extend(kept.find(app, &space, &missing).await?);
    Ok(vectors)
}

/// Counts what was built, says what it is, and gives it its name.
fn finish(
    unfinished: &GenerationFolder,
    finished: &GenerationFolder,
    label: &Label,
) -> Result<(), IngestError> {
    let found = KeywordIndex::open(&unfinished.keyword())?.passage_count();
    let expected = label.published.passages;
    if found != expected {
        return Err(IngestError::Incomplete { found, expected });
    }
    let (from, to) = (unfinished.path(), finished.path());
    let text = serde_json::to_vec(label).expect("a label is plain strings and numbers");
    fs::write(from.join(LABEL), text).map_err(IngestError::io("write into", from))?;
    parts::sync(from)?;
    if to.exists() {
        fs::remove_dir_all(to).map_err(IngestError::io("remove", to))?;
    }
    fs::rename(from, to).map_err(IngestError::io("name", to))?;
    parts::sync(to)
}
