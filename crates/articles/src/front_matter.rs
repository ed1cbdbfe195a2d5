//! Front matter: the YAML (`---`) or TOML (`+++`) block at the head of a page.
//!
//! A block that is broken costs the page its fields, never its text.

use serde_json::{Map, Value};
use serde_saphyr::DuplicateKeyPolicy;

use crate::problem::Note;

/// A page taken apart.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Page<'text> {
    pub(crate) fields: Fields<'text>,
    /// What follows the front matter.
    pub(crate) body: &'text str,
    /// The number of the body's first line in the file, from 1.
    pub(crate) body_line: u32,
    pub(crate) notes: Vec<Note>,
}

/// The fields of a front matter, and where they stand.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Fields<'text> {
    values: Map<String, Value>,
    source: &'text str,
}

/// Front matter beyond this many bytes is not parsed: the fields we use fit in a fraction of it.
const LARGEST: usize = 4 << 20;

/// Values built of one front matter at most, aliases expanded; real ones have some dozens.
const MOST_NODES: usize = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Syntax {
    Yaml,
    Toml,
}

impl Syntax {
    fn opened_by(line: &str) -> Option<Self> {
        match line.trim_end() {
            "---" => Some(Self::Yaml),
            "+++" => Some(Self::Toml),
            _ => None,
        }
    }

    fn is_closed_by(self, line: &str) -> bool {
        match self {
            Self::Yaml => matches!(line.trim_end(), "---" | "..."),
            Self::Toml => line.trim_end() == "+++",
        }
    }
}

impl Fields<'_> {
    /// The value of `key`; a key written without a value counts as absent.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key).filter(|value| !value.is_null())
    }

    /// The line of `key` in the file.
    pub(crate) fn line_of(&self, key: &str) -> u32 {
        let at_key = |line: &str| {
            line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with([':', '=']))
        };
        let index = self.source.lines().position(at_key).unwrap_or_default();
        file_line(index + 1)
    }
}

/// The line in the file of a line (from 1) of the front matter, which begins below the opening mark.
fn file_line(line: usize) -> u32 {
    u32::try_from(line + 1).unwrap_or(u32::MAX)
}

/// Parts `source` into front matter and body. Only a mark on the very first line opens front matter.
pub(crate) fn part(source: &str) -> Page<'_> {
    let whole = || Page { body: source, body_line: 1, ..Page::default() };
    let (first, rest) = source.split_once('\n').unwrap_or((source, ""));
    let Some(syntax) = Syntax::opened_by(first) else {
        return whole();
    };
    let Some((matter, body)) = close(rest, syntax) else {
        return unclosed(source, rest);
    };
    let body_line = file_line(matter.lines().count() + 2);
    let mut notes = Vec::new();
    match parse(matter, syntax, &mut notes) {
        Value::Object(values) => {
            let fields = Fields { values, source: matter };
            Page { fields, body, body_line, notes }
        }
        Value::Null => Page { body, body_line, notes, ..Page::default() },
        // Two thematic breaks around ordinary text.
        Value::String(_) | Value::Array(_) | Value::Bool(_) | Value::Number(_) => whole(),
    }
}

/// Splits at the closing mark.
fn close(rest: &str, syntax: Syntax) -> Option<(&str, &str)> {
    let mut start = 0;
    for line in rest.split_inclusive('\n') {
        let end = start + line.len();
        if syntax.is_closed_by(line) {
            return Some((rest.get(..start)?, rest.get(end..)?));
        }
        start = end;
    }
    None
}

/// The page keeps its text: all but the lines that are plainly fields.
fn unclosed<'text>(source: &'text str, rest: &'text str) -> Page<'text> {
    let fields = rest.lines().take_while(|line| is_field(line)).count();
    if fields == 0 {
        // A thematic break at the head of a page that has no front matter.
        return Page { body: source, body_line: 1, ..Page::default() };
    }
    let length: usize = rest.split_inclusive('\n').take(fields).map(str::len).sum();
    Page {
        body: rest.get(length..).unwrap_or_default(),
        body_line: file_line(fields + 1),
        notes: vec![Note::at(1, "front matter is never closed; its fields are not read")],
        ..Page::default()
    }
}

fn is_field(line: &str) -> bool {
    line.split_once([':', '=']).is_some_and(|(key, _)| {
        let key = key.trim_end();
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
    })
}

/// The value of a front matter; what does not parse is noted and counts as nothing.
fn parse(matter: &str, syntax: Syntax, notes: &mut Vec<Note>) -> Value {
    if matter.len() > LARGEST {
        notes.push(Note::at(
            1,
            format!("front matter is larger than {LARGEST} bytes; its fields are not read"),
        ));
        return Value::Null;
    }
    let parsed = match syntax {
        Syntax::Yaml => parse_yaml(matter, notes),
        Syntax::Toml => parse_toml(matter),
    };
    parsed.unwrap_or_else(|(line, reason)| {
        notes.push(Note::at(
            line,
            format!("front matter does not parse, its fields are not read: {reason}"),
        ));
        Value::Null
    })
}

/// The line in the file, and what is wrong there.
type Broken = (u32, String);

/// The parser's own budget bounds aliases, depth and size of what is built.
fn parse_yaml(matter: &str, notes: &mut Vec<Note>) -> Result<Value, Broken> {
    if matter.trim().is_empty() {
        return Ok(Value::Null);
    }
    yaml(matter, DuplicateKeyPolicy::Error).or_else(|broken| {
        // If nothing but a repeated key is wrong, the other fields still hold.
        let value = yaml(matter, DuplicateKeyPolicy::FirstWins).map_err(|_| broken.clone())?;
        notes.push(Note::at(broken.0, "front matter repeats a key; the first value is used"));
        Ok(value)
    })
}

fn yaml(matter: &str, duplicate_keys: DuplicateKeyPolicy) -> Result<Value, Broken> {
    let options = serde_saphyr::options! {
        duplicate_keys: duplicate_keys,
        with_snippet: false,
        budget: serde_saphyr::budget! { max_nodes: MOST_NODES },
    };
    serde_saphyr::from_str_with_options(matter, options).map_err(|error| {
        let line =
            error.location().map_or(0, |location| usize::try_from(location.line()).unwrap_or(0));
        // The message ends with the place as counted within the front matter.
        let message = error.to_string();
        let reason = message.split(" at line ").next().unwrap_or_default();
        (file_line(line), reason.lines().next().unwrap_or_default().to_owned())
    })
}

fn parse_toml(matter: &str) -> Result<Value, Broken> {
    toml::from_str(matter).map_err(|error| {
        let before = error.span().and_then(|span| matter.get(..span.start)).unwrap_or_default();
        let reason = error.message().lines().next().unwrap_or_default();
        (file_line(before.matches('\n').count() + 1), reason.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, title: Option<&str>, body: &str, body_line: u32, noted: &[u32]) {
        let page = part(source);
        assert_eq!(page.fields.get("title").and_then(Value::as_str), title, "{source:?}");
        assert_eq!((page.body, page.body_line), (body, body_line), "{source:?}");
        let lines: Vec<_> = page.notes.iter().filter_map(|note| note.line).collect();
        assert_eq!(lines, noted, "{source:?}: {:?}", page.notes);
    }

    #[test]
    fn both_syntaxes_are_read() {
        check("---\ntitle: Plan\n---\nBody\n", Some("Plan"), "Body\n", 4, &[]);
        check("---\ntitle: Plan\n...\nBody\n", Some("Plan"), "Body\n", 4, &[]);
        check("+++\ntitle = \"Plan\"\n+++\nBody\n", Some("Plan"), "Body\n", 4, &[]);
        check("---\ntitle: 設定\n---", Some("設定"), "", 4, &[]);
        check("---\n---\nBody\n", None, "Body\n", 3, &[]);
    }

    #[test]
    fn only_the_first_line_opens_front_matter() {
        check("\n---\ntitle: x\n---\n", None, "\n---\ntitle: x\n---\n", 1, &[]);
        check("text\n", None, "text\n", 1, &[]);
        check("", None, "", 1, &[]);
    }

    #[test]
    fn thematic_breaks_around_text_are_not_front_matter() {
        check("---\nJust words.\n---\nMore\n", None, "---\nJust words.\n---\nMore\n", 1, &[]);
        check("---\n\nJust words.\n", None, "---\n\nJust words.\n", 1, &[]);
    }

    #[test]
    fn broken_front_matter_costs_its_fields_and_names_the_line() {
        check("---\ntitle: \"open\nx: y\n---\nBody\n", None, "Body\n", 5, &[2]);
        check("---\na: b\ntitle: [1\n---\nBody\n", None, "Body\n", 5, &[3]);
        check("---\ntitle: One\ntitle: Two\n---\nBody\n", Some("One"), "Body\n", 5, &[3]);
        check("+++\na = 1\ntitle = \n+++\nBody\n", None, "Body\n", 5, &[3]);
        check("---\ntitle: Plan\ntags: x\n\n# Body\n", None, "\n# Body\n", 4, &[1]);
    }

    #[test]
    fn an_alias_bomb_is_refused_quickly() {
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for i in 1..9 {
            let aliases = vec![format!("*a{}", i - 1); 10].join(",");
            bomb.push_str(&format!("a{i}: &a{i} [{aliases}]\n"));
        }
        let source = format!("---\n{bomb}---\nBody\n");
        let page = part(&source);
        assert_eq!((page.body, page.notes.len()), ("Body\n", 1));
    }

    #[test]
    fn a_field_knows_its_line() {
        let page = part("---\ntitle: a\nslug: 42\n---\n");
        assert_eq!(page.fields.line_of("slug"), 3);
    }
}
