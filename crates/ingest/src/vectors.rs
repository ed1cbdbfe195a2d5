//! Vectors for a generation's passages: carried over where they exist, embedded where not.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use domain::{Embedder, Fault, FaultKind, Passage, PassageId, Vector};
use futures_util::{StreamExt, TryStreamExt, stream};
use thiserror::Error;

use crate::retry::embed_patiently;
use crate::{IngestError, Progress};

/// Changes when equal passages would be given another vector by the same model.
pub(crate) const PASSAGE_TEXT_VERSION: u32 = 2;

/// Texts per call: enough to amortise a remote call, few enough for progress to move and for any server to
/// take them.
const BATCH: usize = 32;

/// How passages are embedded.
#[derive(Clone, Copy, Debug)]
pub struct Embedding<'a> {
    pub embedder: &'a Arc<dyn Embedder>,
    /// Calls under way at once: as many as there are cores for a local model, a few for a remote one.
    pub calls_at_once: usize,
}

/// Where a passage stands: its title and headings. Questions resemble titles more than they resemble what
/// is below them, so this weighs as much as the whole passage (`docs/RELEVANCE.md`).
fn place(passage: &Passage) -> String {
    std::iter::once(&passage.title)
        .chain(&passage.headings)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Where a passage stands and what it says.
fn whole(passage: &Passage) -> String {
    format!("{}\n{}", place(passage), passage.text)
}

/// The vectors of `passages` by id, and how many had to be embedded; `carried` has those that are known.
///
/// A passage's vector lies halfway between that of its [`place`] and that of the [`whole`]; one without title
/// and headings has the latter.
///
/// # Errors
///
/// [`IngestError::Embed`] if the embedder fails.
pub async fn vectors_of<'a>(
    passages: impl IntoIterator<Item = &'a Passage>,
    carried: HashMap<PassageId, Vector>,
    embedding: Embedding<'_>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<(HashMap<PassageId, Vector>, u64), IngestError> {
    let mut vectors = carried;
    let missing: Vec<&Passage> =
        passages.into_iter().filter(|passage| !vectors.contains_key(&passage.id)).collect();

    // Passages under one heading share their place.
    let places: BTreeSet<String> = missing
        .iter()
        .map(|passage| place(passage))
        .filter(|place| !place.trim().is_empty())
        .collect();
    let places =
        embed(places.into_iter().map(|text| (text.clone(), text)), embedding, &|_| {}).await?;
    let total = missing.len();
    let texts = missing.iter().map(|passage| (passage.id, whole(passage)));
    let wholes =
        embed(texts, embedding, &|done| progress(Progress::Embedding { done, total })).await?;

    for passage in &missing {
        let Some(whole) = wholes.get(&passage.id) else { continue };
        let between = places.get(&place(passage)).and_then(|place| place.halfway(whole));
        vectors.insert(passage.id, between.unwrap_or_else(|| whole.clone()));
    }
    Ok((vectors, u64::try_from(total).unwrap_or(u64::MAX)))
}

/// The vectors of `texts` by key.
async fn embed<K: Eq + Hash>(
    texts: impl Iterator<Item = (K, String)>,
    embedding: Embedding<'_>,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<HashMap<K, Vector>, IngestError> {
    let (keys, texts): (Vec<K>, Vec<String>) = texts.unzip();
    progress(0);
    let calls = texts.chunks(BATCH).map(|batch| call(batch, embedding.embedder));
    let mut batches = stream::iter(calls).buffered(embedding.calls_at_once.max(1));
    let mut vectors = Vec::with_capacity(keys.len());
    while let Some(batch) = batches.try_next().await? {
        vectors.extend(batch);
        progress(vectors.len());
    }
    Ok(keys.into_iter().zip(vectors).collect())
}

async fn call(batch: &[String], embedder: &Arc<dyn Embedder>) -> Result<Vec<Vector>, IngestError> {
    let failed = |source| IngestError::Embed { embedder: embedder.id().to_string(), source };
    let vectors = embed_patiently(embedder.as_ref(), batch).await.map_err(failed)?;
    // One too few would give every later passage its neighbour's vector.
    if vectors.len() == batch.len() {
        Ok(vectors)
    } else {
        let count = VectorCount { found: vectors.len(), expected: batch.len() };
        Err(failed(Fault::new(FaultKind::Error, count)))
    }
}

/// An embedder broke its promise of one vector per text.
#[derive(Debug, Error)]
#[error("the embedder gave {found} vectors for {expected} texts")]
struct VectorCount {
    found: usize,
    expected: usize,
}
