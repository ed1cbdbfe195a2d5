//! The best few passages, in an order that depends on nothing but scores and ids.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use domain::Filter;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, Searcher, TERMINATED, Term};

use super::collection::Collection;
use super::schema::{Fields, ID};
use super::watch::{Stopped, Watch};

/// Per slot, whether the filter admits the passage; `None` when it admits all.
pub(super) fn admitted(
    filter: &Filter,
    fields: &Fields,
    searcher: &Searcher,
    collection: &Collection,
    watch: &mut Watch<'_>,
) -> Result<Option<Vec<bool>>, Stopped> {
    let mut admitted: Option<Vec<bool>> = None;
    for condition in conditions(filter, fields) {
        let mut holds = holding(&condition, searcher, collection, watch)?;
        if let Some(so_far) = &admitted {
            holds.iter_mut().zip(so_far).for_each(|(holds, so_far)| *holds &= so_far);
        }
        admitted = Some(holds);
    }
    Ok(admitted)
}

/// The terms that a passage must hold, each once: they come from callers, and each costs a pass.
fn conditions(filter: &Filter, fields: &Fields) -> BTreeSet<Term> {
    let lang = filter.lang.map(|lang| fields.lang_term(lang));
    let tags = filter.tags.iter().map(|tag| fields.tag_term(tag));
    lang.into_iter().chain(tags).collect()
}

/// Per slot, whether the passage holds `term`.
fn holding(
    term: &Term,
    searcher: &Searcher,
    collection: &Collection,
    watch: &mut Watch<'_>,
) -> Result<Vec<bool>, Stopped> {
    watch.look()?;
    let mut holds = vec![false; collection.slots];
    for (segment, start) in searcher.segment_readers().iter().zip(&collection.starts) {
        let index = segment.inverted_index(term.field())?;
        let Some(mut postings) = index.read_postings(term, IndexRecordOption::Basic)? else {
            continue;
        };
        let mut doc = postings.doc();
        while doc != TERMINATED {
            watch.step()?;
            holds[start + doc as usize] = true;
            doc = postings.advance();
        }
    }
    Ok(holds)
}

/// The slots of the `k` best scores over zero, best first; among equals, the ones with the least ids.
/// Equals are not ordered further: whoever loads them knows their ids.
pub(super) fn top(
    scores: &[f32],
    admitted: Option<&[bool]>,
    k: usize,
    searcher: &Searcher,
    collection: &Collection,
) -> tantivy::Result<Vec<usize>> {
    let is_admitted = |slot: usize| admitted.is_none_or(|admitted| admitted[slot]);
    let mut slots: Vec<usize> =
        (0..scores.len()).filter(|slot| 0.0 < scores[*slot] && is_admitted(*slot)).collect();
    if k == 0 {
        return Ok(Vec::new());
    }
    let best_first = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]);
    if k < slots.len() {
        let (_, last, _) = slots.select_nth_unstable_by(k - 1, best_first);
        let least = scores[*last];
        let mut equals: Vec<usize> = slots
            .iter()
            .copied()
            .filter(|slot| scores[*slot].total_cmp(&least) == Ordering::Equal)
            .collect();
        slots.retain(|slot| least < scores[*slot]);
        with_least_ids(&mut equals, k - slots.len(), searcher, collection)?;
        slots.extend(equals);
    }
    slots.sort_unstable_by(best_first);
    Ok(slots)
}

/// Cuts `slots` down to the `count` with the least ids.
fn with_least_ids(
    slots: &mut Vec<usize>,
    count: usize,
    searcher: &Searcher,
    collection: &Collection,
) -> tantivy::Result<()> {
    if slots.len() <= count {
        return Ok(());
    }
    let mut by_segment = vec![Vec::new(); collection.starts.len()];
    for slot in slots.drain(..) {
        let (segment, doc) = collection.locate(slot);
        by_segment[segment as usize].push((doc, slot));
    }
    let mut found: Vec<(Vec<u8>, usize)> = Vec::new();
    for (segment, members) in searcher.segment_readers().iter().zip(by_segment) {
        let Some(ids) = segment.fast_fields().bytes(ID)? else { continue };
        // Within a segment, ordinals are in the order of the ids; only the least can be among the result.
        let mut ordinals: Vec<(u64, usize)> = members
            .into_iter()
            .filter_map(|(doc, slot)| Some((ids.ords().first(doc)?, slot)))
            .collect();
        ordinals.sort_unstable();
        for (ordinal, slot) in ordinals.into_iter().take(count) {
            let mut id = Vec::new();
            ids.ord_to_bytes(ordinal, &mut id)?;
            found.push((id, slot));
        }
    }
    found.sort_unstable();
    slots.extend(found.into_iter().take(count).map(|(_, slot)| slot));
    Ok(())
}

#[cfg(test)]
mod tests {
    use domain::Language;

    use super::*;
    use crate::keyword::schema::schema;

    #[test]
    fn a_tag_named_twice_is_one_condition() {
        let (_, fields) = schema();
        let check = |lang, tags: &[&str], count| {
            let filter = Filter { lang, tags: tags.iter().map(|&tag| tag.to_owned()).collect() };
            assert_eq!(conditions(&filter, &fields).len(), count, "{filter:?}");
        };
        check(None, &[], 0);
        check(None, &["ios", "beta", "ios"], 2);
        // A tag that reads like a language is not one.
        check(Some(Language::ENGLISH), &["en", "en"], 2);
    }
}
