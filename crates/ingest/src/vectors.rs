//! Vectors for a generation's passages: carried over where they exist, embedded where not.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use deadline::Deadline;
use domain::{Embedder, Passage, PassageId, Role, Vector};
use futures_util::{StreamExt, TryStreamExt, stream};
use search::VectorFile;

use crate::{IngestError, Progress};

/// Changes when equal passages would be embedded from another text.
pub(crate) const PASSAGE_TEXT_VERSION: u32 = 1;

/// Passages per call: enough to amortise a remote call, few enough for progress to move.
const BATCH: usize = 32;

/// How long one call may take; a batch is seconds for the slowest local model on a busy machine.
const CALL_LIMIT: Duration = Duration::from_secs(300);

/// What a passage is embedded as: where it stands, then what it says.
#[must_use]
pub fn passage_text(passage: &Passage) -> String {
    let mut text = passage.title.clone();
    for heading in &passage.headings {
        text.push('\n');
        text.push_str(heading);
    }
    text.push('\n');
    text.push_str(&passage.text);
    text
}

/// The vectors of `passages` by id, and how many had to be embedded.
pub(crate) async fn of(
    passages: &[Passage],
    previous: Option<&VectorFile>,
    embedder: &Arc<dyn Embedder>,
    calls_at_once: usize,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<(HashMap<PassageId, Vector>, u64), IngestError> {
    let carried = |passage: &Passage| Some((passage.id, previous?.vector_of(passage.id)?));
    let mut vectors: HashMap<PassageId, Vector> = passages.iter().filter_map(carried).collect();
    let missing: Vec<&Passage> =
        passages.iter().filter(|passage| !vectors.contains_key(&passage.id)).collect();

    let total = missing.len();
    let mut done = 0;
    progress(Progress::Embedding { done, total });
    let calls = missing.chunks(BATCH).map(|batch| embed(batch, embedder));
    let mut batches = stream::iter(calls).buffered(calls_at_once.max(1));
    while let Some(batch) = batches.try_next().await? {
        done += batch.len();
        vectors.extend(batch);
        progress(Progress::Embedding { done, total });
    }
    Ok((vectors, u64::try_from(total).unwrap_or(u64::MAX)))
}

async fn embed(
    batch: &[&Passage],
    embedder: &Arc<dyn Embedder>,
) -> Result<Vec<(PassageId, Vector)>, IngestError> {
    let texts: Vec<String> = batch.iter().map(|passage| passage_text(passage)).collect();
    let vectors = embedder
        .embed(&texts, Role::Passage, Deadline::after(CALL_LIMIT))
        .await
        .map_err(|source| IngestError::Embed { embedder: embedder.id().to_string(), source })?;
    Ok(batch.iter().map(|passage| passage.id).zip(vectors).collect())
}
