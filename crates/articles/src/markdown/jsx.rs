//! JavaScript inside Markdown: statements, components and expressions.

use super::Dialect;

/// Follows `import` and `export` statements from line to line.
#[derive(Debug)]
pub(super) struct Statements {
    dialect: Dialect,
    open: bool,
}

impl Statements {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, open: false }
    }

    /// Whether a line is part of a statement. One begins in the first column and ends at an empty line, as in MDX.
    pub(super) fn swallows(&mut self, line: &str) -> bool {
        let begins = match self.dialect {
            Dialect::Mdx => {
                ["import ", "import{", "export "].iter().any(|word| line.starts_with(word))
            }
            // Elsewhere such a line may be prose.
            Dialect::Plain => is_import(line),
        };
        self.open =
            !line.trim().is_empty() && (begins || self.open && self.dialect == Dialect::Mdx);
        self.open
    }
}

/// A whole import statement on one line.
fn is_import(line: &str) -> bool {
    let line = line.trim_end().trim_end_matches(';');
    line.starts_with("import ") && line.contains(" from ") && line.ends_with(['\'', '"'])
}

/// The length of the component tag that `text` begins with: `<Tabs>`, `</Tabs>`, `<Card a={{b: 1}} />`, `<>`.
/// Plain HTML elements are left to the HTML reader, unless an attribute is an expression.
pub(super) fn tag_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('<')?;
    let name = inside.strip_prefix('/').unwrap_or(inside);
    let is_component = name.starts_with(|c: char| c.is_ascii_uppercase());
    let is_fragment = name.starts_with('>');
    if !is_component && !is_fragment && !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return None;
    }
    let (length, expressions) = scan_tag(text)?;
    (is_component || is_fragment || expressions).then_some(length)
}

/// Tags longer than this (in bytes) are not tags.
const LONGEST_TAG: usize = 4_000;

/// The length of a tag, and whether it holds expressions.
fn scan_tag(text: &str) -> Option<(usize, bool)> {
    let mut expressions = false;
    let mut quote = None;
    let mut position = 1;
    let bytes = text.as_bytes();
    while position < bytes.len().min(LONGEST_TAG) {
        let byte = *bytes.get(position)?;
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'{') => {
                expressions = true;
                position += expression_length(text.get(position..)?)? - 1;
            }
            (None, b'>') => return Some((position + 1, expressions)),
            (None, b'<') => return None,
            (None, _) => {}
        }
        position += 1;
    }
    None
}

/// The length of the braced expression that `text` begins with.
pub(super) fn expression_length(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut escaped = false;
    for (position, byte) in text.bytes().enumerate().take(LONGEST_TAG) {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match (quote, byte) {
            (Some(_), b'\\') => escaped = true,
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'' | b'`') => quote = Some(byte),
            (None, b'{') => depth += 1,
            (None, b'}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(position + 1);
                }
            }
            (None, _) => {}
        }
    }
    None
}

/// The text of an expression that is a plain string: `{'text'}`.
pub(super) fn literal(expression: &str) -> Option<&str> {
    let inside = expression.strip_prefix('{')?.strip_suffix('}')?.trim();
    ['\'', '"', '`'].iter().find_map(|&quote| {
        let text = inside.strip_prefix(quote)?.strip_suffix(quote)?;
        (!text.contains([quote, '\\', '$'])).then_some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn tag(text: &str, expected: Option<&str>) {
        assert_eq!(tag_length(text).and_then(|length| text.get(..length)), expected, "{text:?}");
    }

    #[test]
    fn component_tags_are_found_whole() {
        tag("<Tabs>x", Some("<Tabs>"));
        tag("</Tabs>x", Some("</Tabs>"));
        tag("<Card a={{b: '}>'}} c=\">\" />x", Some("<Card a={{b: '}>'}} c=\">\" />"));
        tag("<div style={{a: 1}}>x", Some("<div style={{a: 1}}>"));
        tag("<>x", Some("<>"));
    }

    #[test]
    fn other_things_are_left_alone() {
        for text in
            ["<div class=\"a\">", "< 3", "<3", "<Never closed", "<A {", "<A <B>", "<!-- x -->"]
        {
            tag(text, None);
        }
    }

    #[test]
    fn strings_are_the_only_expressions_with_text() {
        assert_eq!(literal("{'a b'}"), Some("a b"));
        assert_eq!(literal("{\" \"}"), Some(" "));
        assert_eq!(literal("{`a ${b}`}"), None);
        assert_eq!(literal("{props.a}"), None);
    }
}
