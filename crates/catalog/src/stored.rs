//! How values stand in tables, the same in both databases.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::{AppName, GenerationId, Passage, PassageId};

use crate::{CatalogError, Heard, Published, Recipe};

/// `app, number, epoch, recipe, articles, passages, published_at` in microseconds.
pub(crate) type GenerationRow = (String, i64, i64, String, i64, i64, i64);

pub(crate) fn published(row: &GenerationRow) -> Result<Published, CatalogError> {
    let (app, number, epoch, recipe, articles, passages, published_at) = row;
    let damaged_number = |source| damaged(app, "numbers", source);
    Ok(Published {
        id: GenerationId {
            app: app.parse().map_err(|error| damaged(app, "name", error))?,
            epoch: u32::try_from(*epoch).map_err(damaged_number)?,
            number: u64::try_from(*number).map_err(damaged_number)?,
        },
        recipe: serde_json::from_str(recipe).map_err(|error| damaged(app, "recipe", error))?,
        articles: u64::try_from(*articles).map_err(damaged_number)?,
        passages: u64::try_from(*passages).map_err(damaged_number)?,
        published_at: UNIX_EPOCH
            + Duration::from_micros(u64::try_from(*published_at).map_err(damaged_number)?),
    })
}

/// `replica, generation`, and microseconds since it was heard of.
pub(crate) type HeardRow = (String, i64, i64);

pub(crate) fn heard(app: &AppName, row: HeardRow) -> Result<Heard, CatalogError> {
    let (replica, generation, micros_ago) = row;
    let damaged_number = |source| damaged(app.as_str(), "servers", source);
    Ok(Heard {
        replica,
        generation: u64::try_from(generation).map_err(damaged_number)?,
        ago: Duration::from_micros(u64::try_from(micros_ago).map_err(damaged_number)?),
    })
}

pub(crate) fn recipe_text(recipe: &Recipe) -> String {
    serde_json::to_string(recipe).expect("a recipe is plain strings and numbers")
}

pub(crate) fn passage_text(passage: &Passage) -> String {
    serde_json::to_string(passage).expect("a passage is plain strings and numbers")
}

pub(crate) fn passage(app: &str, body: &str) -> Result<Passage, CatalogError> {
    serde_json::from_str(body).map_err(|error| damaged(app, "passage", error))
}

pub(crate) fn passage_id(app: &str, digits: &str) -> Result<PassageId, CatalogError> {
    digits.parse().map_err(|error| damaged(app, "passage id", error))
}

/// The tables hold no other numbers.
pub(crate) fn identity(number: i64) -> Result<u32, CatalogError> {
    u32::try_from(number).map_err(|error| CatalogError::Read(sqlx::Error::Decode(error.into())))
}

pub(crate) fn damaged(
    app: &str,
    what: &'static str,
    source: impl Into<domain::BoxError>,
) -> CatalogError {
    CatalogError::Damaged { app: app.to_owned(), what, source: source.into() }
}

/// Databases' integers are signed.
pub(crate) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn micros_since_epoch(at: SystemTime) -> i64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
