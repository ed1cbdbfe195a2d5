//! Removes template tags, includes, JSX and comments from prose; code spans stay.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{Dialect, jsx};
use crate::template_tags;

/// Goes over one stretch of prose once.
#[derive(Debug)]
pub(super) struct Cleaner<'text> {
    text: &'text str,
    position: usize,
    dialect: Dialect,
    included_at: Option<usize>,
    /// Constructs opened and never closed so far: looking for each end again would be quadratic.
    unclosed: HashSet<&'static str>,
    /// Lengths of backtick runs known to have no partner, and the end of the paragraph they were sought in.
    unpaired: HashSet<usize>,
    paragraph_end: usize,
    failures: u32,
}

/// After so many braces or angle brackets that open nothing, a text is not JSX. Bounds the time of looking.
const MOST_FAILURES: u32 = 1_000;

/// What to do at one position: skip so many bytes, and write a text in their place.
struct Replacement<'text> {
    length: usize,
    text: Cow<'text, str>,
}

impl Replacement<'_> {
    fn nothing(length: usize) -> Self {
        Self { length, text: Cow::Borrowed("") }
    }
}

impl<'text> Cleaner<'text> {
    pub(super) fn new(text: &'text str, dialect: Dialect) -> Self {
        Self {
            text,
            position: 0,
            dialect,
            included_at: None,
            unclosed: HashSet::new(),
            unpaired: HashSet::new(),
            paragraph_end: 0,
            failures: 0,
        }
    }

    /// Where the first include stood.
    pub(super) fn included_at(&self) -> Option<usize> {
        self.included_at
    }

    pub(super) fn clean(&mut self) -> String {
        const MARKS: [char; 6] = ['\\', '`', '{', '<', '[', '!'];
        let mut clean = String::with_capacity(self.text.len());
        while let Some(rest) = self.text.get(self.position..).filter(|rest| !rest.is_empty()) {
            let plain = rest.find(MARKS).unwrap_or(rest.len());
            let (before, marked) = rest.split_at(plain);
            clean.push_str(before);
            self.position += plain;
            if marked.is_empty() {
                break;
            }
            if let Some(Replacement { length, text }) = self.replacement(marked) {
                clean.push_str(&text);
                self.position += length;
            } else {
                let length = self.kept_length(marked);
                clean.push_str(marked.get(..length).unwrap_or(marked));
                self.position += length;
            }
        }
        clean
    }

    /// How much of `rest` goes through untouched: an escape, a code span, or one character.
    fn kept_length(&mut self, rest: &str) -> usize {
        if rest.starts_with('`') {
            return self.code_length(rest);
        }
        let escape = rest.starts_with('\\');
        rest.chars().take(if escape { 2 } else { 1 }).map(char::len_utf8).sum()
    }

    /// The length of a code span, or of the backticks that open none.
    fn code_length(&mut self, rest: &str) -> usize {
        let run = rest.len() - rest.trim_start_matches('`').len();
        if self.position >= self.paragraph_end {
            self.unpaired.clear();
            self.paragraph_end = self.position + rest.find("\n\n").unwrap_or(rest.len());
        }
        if self.unpaired.contains(&run) {
            return run;
        }
        let paragraph = rest.get(..self.paragraph_end - self.position).unwrap_or(rest);
        let mut position = run;
        while let Some(start) = paragraph.get(position..).and_then(|rest| rest.find('`')) {
            let at = position + start;
            let marks = paragraph.get(at..).unwrap_or_default();
            let length = marks.len() - marks.trim_start_matches('`').len();
            position = at + length;
            if length == run {
                return position;
            }
        }
        self.unpaired.insert(run);
        run
    }

    fn replacement(&mut self, rest: &'text str) -> Option<Replacement<'text>> {
        match rest.as_bytes().first()? {
            b'{' => self.brace(rest),
            b'<' => self.angle(rest),
            b'[' => self.include(rest),
            _ => None,
        }
    }

    fn brace(&mut self, rest: &'text str) -> Option<Replacement<'text>> {
        if rest.starts_with("{/*") {
            let length = self.closed("{/*", "*/}", rest)?;
            return Some(self.comment(rest, length));
        }
        for (open, close) in [("{%", "%}"), ("{{", "}}")] {
            if rest.starts_with(open) {
                self.closed(open, close, rest)?;
                return template_tags::tag_length(rest).map(Replacement::nothing);
            }
        }
        if self.dialect == Dialect::Plain || rest.starts_with("{#") {
            return None;
        }
        let length = self.attempt(rest, jsx::expression_length)?;
        let text = rest.get(..length).and_then(jsx::literal).unwrap_or_default();
        Some(Replacement { length, text: Cow::Borrowed(text) })
    }

    /// A comment behind a heading is its id.
    fn comment(&self, rest: &'text str, length: usize) -> Replacement<'text> {
        let before = self.text.get(..self.position).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        let inside = rest.get(3..length - 3).unwrap_or_default();
        let is_id =
            line.starts_with('#') && !inside.is_empty() && !inside.contains(char::is_whitespace);
        let text = if is_id { Cow::Owned(format!("{{#{inside}}}")) } else { Cow::Borrowed("") };
        Replacement { length, text }
    }

    fn angle(&mut self, rest: &'text str) -> Option<Replacement<'text>> {
        if rest.starts_with("<!--") {
            let length = self.closed("<!--", "-->", rest)?;
            return Some(Replacement::nothing(length));
        }
        let begins =
            rest.chars().nth(1).is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '>'));
        if !begins {
            return None;
        }
        self.attempt(rest, jsx::tag_length).map(Replacement::nothing)
    }

    /// `[!INCLUDE [title](path)]`, in any spelling of its name.
    fn include(&mut self, rest: &'text str) -> Option<Replacement<'text>> {
        let name = rest.get(..9)?;
        if !name.eq_ignore_ascii_case("[!INCLUDE") {
            return None;
        }
        let length = self.closed("[!INCLUDE", ")]", rest)?;
        self.included_at.get_or_insert(self.position);
        Some(Replacement::nothing(length))
    }

    /// The length up to the end of `close`.
    fn closed(&mut self, open: &'static str, close: &str, rest: &str) -> Option<usize> {
        if self.unclosed.contains(open) {
            return None;
        }
        match rest.get(open.len()..).and_then(|inside| inside.find(close)) {
            Some(inside) => Some(open.len() + inside + close.len()),
            None => {
                self.unclosed.insert(open);
                None
            }
        }
    }

    /// What `measure` makes of `rest`, as long as it has not failed too often.
    fn attempt(&mut self, rest: &str, measure: fn(&str) -> Option<usize>) -> Option<usize> {
        if self.failures >= MOST_FAILURES {
            return None;
        }
        let length = measure(rest);
        self.failures += u32::from(length.is_none());
        length
    }
}
