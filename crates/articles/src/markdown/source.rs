//! Frees Markdown of what only its site's generator understands. Code is left as it is.

use super::inline::Cleaner;
use super::lines::{self, Line};
use super::{Dialect, jsx};
use crate::problem::Note;

/// The source without generator marks; each kind of loss is noted once, with its first line.
pub(super) fn prepare(
    body: &str,
    first_line: u32,
    dialect: Dialect,
    notes: &mut Vec<Note>,
) -> String {
    let mut prepared = Prepared {
        text: String::with_capacity(body.len()),
        prose: String::new(),
        prose_line: first_line,
        dialect,
        included_at: None,
    };
    let mut fence: Option<Fence> = None;
    let mut statements = jsx::Statements::new(dialect);
    let mut indent = Indent::new(dialect);
    for (index, line) in body.lines().enumerate() {
        let number = first_line.saturating_add(u32::try_from(index).unwrap_or(u32::MAX));
        if let Some(open) = fence {
            if open.is_closed_by(line) {
                fence = None;
            }
            prepared.code(indent.strip_code(line));
            continue;
        }
        let line = indent.strip(line);
        fence = Fence::opened_by(line);
        if fence.is_some() {
            prepared.code(line);
        } else {
            prepared.prose(if statements.swallows(line) { "" } else { line }, number);
        }
    }
    prepared.flush();
    if let Some(line) = prepared.included_at {
        notes.push(Note::at(line, "includes another file, which is not read"));
    }
    prepared.text
}

struct Prepared {
    text: String,
    /// Lines of prose since the last code.
    prose: String,
    prose_line: u32,
    dialect: Dialect,
    included_at: Option<u32>,
}

impl Prepared {
    fn code(&mut self, line: &str) {
        self.flush();
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn prose(&mut self, line: &str, number: u32) {
        if self.prose.is_empty() {
            self.prose_line = number;
        }
        match lines::rewrite(line) {
            Line::AsIs => self.prose.push_str(line),
            Line::Instead(text) => self.prose.push_str(&text),
        }
        self.prose.push('\n');
    }

    fn flush(&mut self) {
        if self.prose.is_empty() {
            return;
        }
        let mut cleaner = Cleaner::new(&self.prose, self.dialect);
        self.text.push_str(&cleaner.clean());
        if let Some(offset) = cleaner.included_at() {
            let before = self.prose.get(..offset).unwrap_or_default().matches('\n').count();
            let line = self.prose_line.saturating_add(u32::try_from(before).unwrap_or(u32::MAX));
            self.included_at.get_or_insert(line);
        }
        self.prose.clear();
    }
}

/// An open fence of code: its character and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// Fences also open within quotes and list items.
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim_start_matches([' ', '\t', '>']);
        let line =
            lines::strip_item_mark(line).unwrap_or(line).trim_start_matches([' ', '\t', '>']);
        let mark = line.chars().next().filter(|&c| c == '`' || c == '~')?;
        let length = line.chars().take_while(|&c| c == mark).count();
        let info = line.get(length..).unwrap_or_default();
        (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Self { mark, length })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim_start_matches([' ', '\t', '>']).trim_end();
        line.len() >= self.length && line.chars().all(|c| c == self.mark)
    }
}

/// The indentation that MDX gives to what stands inside a component, and that would make code of it in Markdown.
#[derive(Debug)]
struct Indent {
    dialect: Dialect,
    /// Taken off each line.
    base: usize,
    in_list: bool,
}

impl Indent {
    fn new(dialect: Dialect) -> Self {
        Self { dialect, base: 0, in_list: false }
    }

    /// The line without the indentation of the component around it. Within a list, indentation has a meaning.
    fn strip<'line>(&mut self, line: &'line str) -> &'line str {
        let content = line.trim_start();
        if self.dialect == Dialect::Plain || content.is_empty() {
            return line;
        }
        let indent = line.len() - content.len();
        let is_item = lines::strip_item_mark(content).is_some();
        if !self.in_list || indent <= self.base {
            self.base = indent;
            self.in_list = is_item;
        }
        line.get(self.base.min(indent)..).unwrap_or(content)
    }

    /// A line of code keeps what it is indented beyond its fence.
    fn strip_code<'line>(&self, line: &'line str) -> &'line str {
        let indent = line.len() - line.trim_start().len();
        line.get(self.base.min(indent)..).unwrap_or(line)
    }
}
