//! Which points a call is about.

use domain::Filter;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::{Condition, Filter as Points, Range};

use crate::point::{OPEN, field, stored};

/// The passages of `revision` that `filter` admits.
pub(crate) fn admitted(revision: u64, filter: &Filter) -> Points {
    let lang = filter.lang.map(|lang| is(field::LANG, lang.as_str()));
    let tags = filter.tags.iter().map(|tag| is(field::TAGS, tag));
    let begun = Range { lte: Some(bound(stored(revision))), ..Range::default() };
    let not_ended = Range { gt: Some(bound(stored(revision))), ..Range::default() };
    let of_revision =
        [Condition::range(field::FROM, begun), Condition::range(field::UNTIL, not_ended)];
    Points::must(of_revision.into_iter().chain(lang).chain(tags))
}

/// Points that begin after `revision`.
pub(crate) fn begun_after(revision: u64) -> Points {
    let range = Range { gt: Some(bound(stored(revision))), ..Range::default() };
    Points::must([Condition::range(field::FROM, range)])
}

/// Points of `revision` that end after it, but do end.
pub(crate) fn closed_after(revision: u64) -> Points {
    let (gt, lt) = (Some(bound(stored(revision))), Some(bound(OPEN)));
    Points::must([Condition::range(field::UNTIL, Range { gt, lt, ..Range::default() })])
}

/// Points that are neither of `revision` nor of any later one.
pub(crate) fn closed_by(revision: u64) -> Points {
    let range = Range { lte: Some(bound(stored(revision))), ..Range::default() };
    Points::must([Condition::range(field::UNTIL, range)])
}

/// Said in so many words: left to itself, the client makes a search for words of a text with a space in it.
fn is(field: &str, text: &str) -> Condition {
    Condition::matches(field, MatchValue::Keyword(text.to_owned()))
}

/// Exact, for nothing stored is above [`OPEN`].
#[expect(clippy::cast_precision_loss, reason = "an f64 holds 53 bits exactly")]
fn bound(revision: i64) -> f64 {
    revision as f64
}
