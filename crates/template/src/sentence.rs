//! Where sentences are, and cutting a text at the end of one.

use std::ops::Range;

use crate::block::{Block, Kind, blocks, list_marker};
use crate::{boundary, part};

/// A sentence with what kind of block it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub kind: Kind,
    pub range: Range<usize>,
}

/// The sentences of `text` in English, Japanese and other languages, in order; a list item, a table row and a
/// heading is one each.
///
/// Ranges are never empty and do not overlap; what is between them is white space. Citation marks behind a
/// sentence are part of it.
#[must_use]
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    units(text).into_iter().map(|sentence| sentence.range).collect()
}

/// The longest prefix of `text`, a text that broke off, that is made of whole sentences; `None` if there is not
/// even one.
///
/// An item or row counts as whole once another line follows it. A prefix does not end on a line that only
/// announces what was lost (`Do this:`, a heading).
#[must_use]
pub fn cut_at_sentence(text: &str) -> Option<&str> {
    let blocks = blocks(text);
    let (last, before) = blocks.split_last()?;
    let end = last_whole_end(text, last).or_else(|| {
        before.iter().rev().find_map(|block| match block.kind {
            Kind::Step | Kind::Bullet | Kind::Row => Some(block.range.end),
            Kind::Prose => last_whole_end(text, block),
            Kind::Heading => None,
        })
    })?;
    text.get(..end)
}

/// The sentences of `text` with their kinds.
pub(crate) fn units(text: &str) -> Vec<Sentence> {
    let mut units = Vec::new();
    for Block { kind, range } in blocks(text) {
        if kind == Kind::Prose {
            units.extend(split_block(text, &range).map(|range| Sentence { kind, range }));
        } else {
            units.push(Sentence { kind, range });
        }
    }
    units
}

/// Where the last whole sentence of a block that may have broken off ends.
fn last_whole_end(text: &str, block: &Block) -> Option<usize> {
    if block.kind == Kind::Heading {
        return None;
    }
    let marker = list_marker(part(text, block.range.clone())).map_or(0, |marker| marker.length);
    let words = block.range.start + marker..block.range.end;
    let whole =
        split_block(text, &words).filter(|range| boundary::is_whole(part(text, range.clone())));
    whole.last().map(|range| range.end)
}

fn split_block(text: &str, block: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let offset = block.start;
    boundary::split(part(text, block.clone()))
        .into_iter()
        .map(move |range| range.start + offset..range.end + offset)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> = sentences(text).into_iter().map(|range| part(text, range)).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn items_and_rows_are_sentences() {
        check(
            "To cancel. Do this:\n1. Open it. Wait.\n2. Tap\n\nPlan | Price\nPlus | $4",
            &["To cancel.", "Do this:", "1. Open it. Wait.", "2. Tap", "Plan | Price", "Plus | $4"],
        );
        check("", &[]);
    }

    #[track_caller]
    fn check_cut(text: &str, expected: Option<&str>) {
        assert_eq!(cut_at_sentence(text), expected, "{text:?}");
    }

    #[test]
    fn a_text_is_cut_behind_its_last_whole_sentence() {
        check_cut("Open it. [1] Then ta", Some("Open it. [1]"));
        check_cut("Open it. [1]", Some("Open it. [1]"));
        check_cut("開きます。次に", Some("開きます。"));
        check_cut("Update to 1.2.", Some("Update to 1.2."));
        check_cut("Open", None);
        check_cut(" \n", None);
        check_cut("Use a format, e.g.", None);
    }

    #[test]
    fn whole_items_are_kept_and_an_announcement_of_nothing_is_not() {
        check_cut("Do this:\n- Open it\n- Ta", Some("Do this:\n- Open it"));
        check_cut("Do this:\n- Open it. Ta", Some("Do this:\n- Open it."));
        check_cut("It is easy. Do this:\n- Op", Some("It is easy."));
        check_cut("Do this:\n1.", None);
        check_cut("Yes.\n\n## How", Some("Yes."));
    }

    proptest! {
        #[test]
        fn a_cut_text_is_a_prefix_and_cutting_again_changes_nothing(
            text in "([A-Za-z。！．、あ漢… \\n.!?:|()「」\\[\\]0-9-]|\\PC){0,60}"
        ) {
            if let Some(cut) = cut_at_sentence(&text) {
                prop_assert!(text.starts_with(cut) && !cut.trim().is_empty());
            }
        }

        #[test]
        fn sentences_hold_everything_but_white_space(
            text in "([A-Za-z。！．、あ漢… \\n.!?:|()「」\\[\\]0-9-]|\\PC){0,60}"
        ) {
            let mut end = 0;
            for range in sentences(&text) {
                prop_assert!(!range.is_empty());
                prop_assert!(part(&text, end..range.start).trim().is_empty());
                end = range.end;
            }
            prop_assert!(part(&text, end..text.len()).trim().is_empty());
        }
    }
}
