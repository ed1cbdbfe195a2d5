//! The lines of a text taken together as paragraphs, list items, table rows and headings.

use std::ops::Range;

use crate::part;

/// What a stretch of lines is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A paragraph, over as many lines as it was wrapped to.
    Prose,
    /// A numbered list item with its continuation lines.
    Step,
    /// Another list item with its continuation lines.
    Bullet,
    /// A table row.
    Row,
    /// A Markdown heading.
    Heading,
}

/// A stretch of lines without the white space around it; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub kind: Kind,
    pub range: Range<usize>,
}

/// The blocks of `text`, in order. Together they hold everything but white space.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let range = trimmed(text, start..start + line.len());
        start += line.len();
        if range.is_empty() {
            open = false;
            continue;
        }
        let kind = kind_of(part(text, range.clone()));
        match blocks.last_mut() {
            Some(last) if open && kind == Kind::Prose && last.goes_on() => {
                last.range.end = range.end;
            }
            _ => blocks.push(Block { kind, range }),
        }
        open = true;
    }
    blocks
}

impl Block {
    /// Whether a plain line right below belongs to this block. Below a list item it does, as in Markdown, even where it is
    /// not indented.
    fn goes_on(&self) -> bool {
        match self.kind {
            Kind::Prose | Kind::Step | Kind::Bullet => true,
            Kind::Row | Kind::Heading => false,
        }
    }
}

fn kind_of(line: &str) -> Kind {
    if is_heading(line) {
        Kind::Heading
    } else if line.starts_with('|') || line.contains(" | ") || line.contains('\t') {
        Kind::Row
    } else {
        list_marker(line).map_or(Kind::Prose, |marker| marker.kind)
    }
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())) && rest.starts_with(' ')
}

/// The mark in front of a list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListMarker {
    pub kind: Kind,
    /// Bytes up to the item's words.
    pub length: usize,
}

/// The list marker that `line` starts with. A marker alone is an item that has no words yet.
pub(crate) fn list_marker(line: &str) -> Option<ListMarker> {
    let (kind, after) = number(line)
        .map(|after| (Kind::Step, after))
        .or_else(|| bullet(line).map(|after| (Kind::Bullet, after)))?;
    Some(ListMarker { kind, length: line.len() - after.trim_start().len() })
}

/// What follows `1.`, `2)`, `(3)`, `４．` or `⑤`.
fn number(line: &str) -> Option<&str> {
    if let Some(after) = line.strip_prefix(|c| matches!(c, '①'..='⑳')) {
        return Some(after);
    }
    let bare = line.strip_prefix(['(', '（']).unwrap_or(line);
    let after = bare.trim_start_matches(|c| matches!(c, '0'..='9' | '０'..='９'));
    let digits = part(bare, 0..bare.len() - after.len()).chars().count();
    if !(1..=3).contains(&digits) {
        return None;
    }
    if bare.len() == line.len() {
        let ascii = after.strip_prefix(['.', ')']).filter(|after| is_apart(after));
        ascii.or_else(|| after.strip_prefix(['．', '）']))
    } else {
        after.strip_prefix([')', '）'])
    }
}

/// What follows `- `, `* `, `•`, `・` and the like.
fn bullet(line: &str) -> Option<&str> {
    line.strip_prefix(['・', '●', '○', '■', '□', '◆', '•', '◦', '▪', '‣'])
        .or_else(|| line.strip_prefix(['-', '*', '+', '–']).filter(|after| is_apart(after)))
}

/// Whether what follows a marker is set apart from it, as words are.
fn is_apart(after: &str) -> bool {
    after.is_empty() || after.starts_with([' ', '\t', '\u{3000}'])
}

/// `range` without the white space at its ends.
pub(crate) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let whole = part(text, range.clone());
    let start = range.start + (whole.len() - whole.trim_start().len());
    start..start + whole.trim().len()
}

#[cfg(test)]
mod tests {
    use super::Kind::{Bullet, Heading, Prose, Row, Step};
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(Kind, &str)]) {
        let found: Vec<_> =
            blocks(text).into_iter().map(|block| (block.kind, part(text, block.range))).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn wrapped_lines_are_one_paragraph_and_an_empty_line_ends_it() {
        check("a\nb\n\nc", &[(Prose, "a\nb"), (Prose, "c")]);
        check(" \n\n", &[]);
    }

    #[test]
    fn list_items_stand_alone_with_their_continuation_lines() {
        check(
            "Do this:\n1. Open\n   the app\n2) Tap\nit\n\nDone.",
            &[
                (Prose, "Do this:"),
                (Step, "1. Open\n   the app"),
                (Step, "2) Tap\nit"),
                (Prose, "Done."),
            ],
        );
        check("- a\n\n- b\n-", &[(Bullet, "- a"), (Bullet, "- b"), (Bullet, "-")]);
        check(
            "・写真\n①開く\n（2）押す\n３．待つ",
            &[(Bullet, "・写真"), (Step, "①開く"), (Step, "（2）押す"), (Step, "３．待つ")],
        );
    }

    #[test]
    fn numbers_and_dashes_within_words_are_no_list_markers() {
        for line in ["1.5 GB", "2024 was", "-5 degrees", "1042. x", "3 photos", "10:30 a", "--"] {
            check(line, &[(Prose, line)]);
        }
    }

    #[test]
    fn rows_and_headings_stand_alone() {
        check(
            "# Plans\n| Plus | 100 GB |\nFree | 5 GB",
            &[(Heading, "# Plans"), (Row, "| Plus | 100 GB |"), (Row, "Free | 5 GB")],
        );
        check("#hashtag", &[(Prose, "#hashtag")]);
    }
}
