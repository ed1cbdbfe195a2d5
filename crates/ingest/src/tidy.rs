//! [`tidy`]: letting go of what no server answers from any more.

use std::time::Duration;

use catalog::{Published, VectorHome, Writer};
use deadline::Deadline;
use domain::{AppName, Call};
use qdrant::{Qdrant, QdrantWriter};

use crate::{IngestError, Stores};

/// A server that was not heard of for so long holds nothing up.
pub const SILENCE: Duration = Duration::from_secs(600);

/// How long a sweep may take. The next one does what this one did not.
const SWEEP: Duration = Duration::from_secs(120);

/// Removes vectors of `app` that only older generations need than any that a living server answers from, and gives
/// the number of the oldest one that stays. `_writer` keeps runs away meanwhile: a new epoch's collection looks like
/// one that nobody needs.
///
/// # Errors
///
/// [`IngestError`]; some may be gone then.
pub async fn tidy(
    stores: &Stores,
    app: &AppName,
    _writer: &dyn Writer,
) -> Result<Option<u64>, IngestError> {
    let catalog = &*stores.catalog;
    let Some(newest) = catalog.newest_of(app).await? else { return Ok(None) };
    let in_use = catalog.oldest_in_use(app, SILENCE).await?;
    let oldest = in_use.map_or(newest.id.number, |number| number.min(newest.id.number));
    let kept = catalog.since(app, oldest).await?;
    let Some(oldest) = kept.first() else { return Ok(None) };
    if let Some(qdrant) = &stores.qdrant {
        // Whatever was published by whom: only what is this catalog's may go.
        sweep(&qdrant.of(catalog.identity().await?), oldest, &newest).await?;
    }
    if let Some(vectors) = catalog.shared() {
        vectors.trim(app, oldest.id.number, &spaces(&kept)).await?;
    }
    Ok(Some(oldest.id.number))
}

async fn sweep(qdrant: &Qdrant, oldest: &Published, newest: &Published) -> Result<(), IngestError> {
    let call = Call::background("tidy", Deadline::after(SWEEP));
    Ok(QdrantWriter::new(qdrant).sweep(&oldest.id, &newest.id, &call).await?)
}

/// The spaces of those generations whose vectors lie in the catalog.
fn spaces(generations: &[Published]) -> Vec<String> {
    let recipes = generations.iter().map(|published| &published.recipe);
    let in_catalog = recipes.filter(|recipe| recipe.vectors == VectorHome::Catalog);
    let mut spaces: Vec<String> = in_catalog.map(|recipe| recipe.space()).collect();
    spaces.dedup();
    spaces
}
