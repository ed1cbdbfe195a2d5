//! What reading has to tell the owner of the help center, in a form that is safe to print.

use std::fmt::{self, Write as _};

/// Something wrong with one file or folder. Its text form is `path:line: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Relative to the folder read, `/`-separated; as it is, so escape it (or print the problem) for a terminal.
    pub path: String,
    /// From 1; where the problem lies on a line.
    pub line: Option<u32>,
    pub severity: Severity,
    pub message: String,
}

/// What became of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The page was kept.
    Warning,
    /// The page, or whatever else lies at the path, was left out.
    Skipped,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_printable(f, &self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        write_printable(f, &self.message)
    }
}

/// Writes `text` so that a file name can neither move the cursor nor reverse the line around it.
fn write_printable(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for c in text.chars() {
        if is_unprintable(c) {
            write!(f, "{}", c.escape_unicode())?;
        } else {
            f.write_char(c)?;
        }
    }
    Ok(())
}

/// Control characters, line separators, and characters that change the direction of the text after them.
pub(crate) fn is_unprintable(c: char) -> bool {
    c.is_control() || is_direction_mark(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// The explicit directional formatting characters of the Unicode bidirectional algorithm (UAX #9, section 2).
pub(crate) fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A remark about a page that is kept; becomes a [`Problem`] once the page's path is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) line: Option<u32>,
    pub(crate) message: String,
}

impl Note {
    pub(crate) fn at(line: u32, message: impl Into<String>) -> Self {
        Self { line: Some(line), message: message.into() }
    }

    pub(crate) fn on_page(message: impl Into<String>) -> Self {
        Self { line: None, message: message.into() }
    }

    pub(crate) fn into_problem(self, path: &str, severity: Severity) -> Problem {
        Problem { path: path.to_owned(), line: self.line, severity, message: self.message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, line: Option<u32>, expected: &str) {
        let problem = Problem {
            path: path.to_owned(),
            line,
            severity: Severity::Warning,
            message: "odd".to_owned(),
        };
        assert_eq!(problem.to_string(), expected);
    }

    #[test]
    fn a_problem_reads_path_line_message() {
        check("a/b.md", Some(3), "a/b.md:3: odd");
        check("a/b.md", None, "a/b.md: odd");
    }

    #[test]
    fn a_file_name_cannot_drive_the_terminal() {
        check("new\nline.md", None, "new\\u{a}line.md: odd");
        check("\u{1b}[2J.md", None, "\\u{1b}[2J.md: odd");
        check("\u{202e}gpj.exe.md", None, "\\u{202e}gpj.exe.md: odd");
        check("設定.md", None, "設定.md: odd");
    }
}
