//! Running text out of words and breaks: white space folded, breaks merged, list marks in place.

use crate::problem::is_direction_mark;

/// Text being written.
#[derive(Debug, Default)]
pub(super) struct Flow {
    text: String,
    /// Owed before the next character.
    gap: Gap,
    /// Where a list mark that has no text yet begins.
    mark: Option<usize>,
}

/// What stands between two pieces of text; the greater of two wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    None,
    /// The end of a source line: a space, except between characters of scripts that have none between words.
    Wrap,
    Space,
    Line,
    Paragraph,
}

impl Flow {
    /// Adds text whose white space means nothing but "apart".
    pub(super) fn words(&mut self, text: &str) {
        // Within one run of white space a line end decides, and indentation around it is source formatting.
        let mut run = Gap::None;
        for c in text.chars() {
            if c.is_whitespace() {
                run = if c == '\n' || run == Gap::Wrap { Gap::Wrap } else { Gap::Space };
            } else if !is_invisible(c) {
                self.apart(run);
                run = Gap::None;
                if !self.empties_bracket(c) {
                    self.settle(c);
                    self.text.push(c);
                }
            }
        }
        self.apart(run);
    }

    /// Adds lines as they are, apart from the text around them.
    pub(super) fn verbatim(&mut self, lines: &str, around: Gap) {
        let mut blank = 0;
        self.apart(around);
        for line in lines.lines().map(str::trim_end) {
            if line.is_empty() {
                blank += 1;
                continue;
            }
            self.apart(if blank > 0 { Gap::Paragraph } else { Gap::Line });
            blank = 0;
            self.settle(' ');
            self.text.extend(line.chars().filter(|&c| c == '\t' || !is_invisible(c)));
        }
        self.apart(around);
    }

    /// Asks for a gap before the next text.
    pub(super) fn apart(&mut self, gap: Gap) {
        // Between a list mark and its item there is only the mark's own space.
        if self.mark.is_none() {
            self.gap = self.gap.max(gap);
        }
    }

    /// Begins a list item on a line of its own.
    pub(super) fn mark(&mut self, mark: &str) {
        self.drop_mark();
        self.apart(Gap::Line);
        let start = self.text.len();
        self.settle(' ');
        self.text.push_str(mark);
        self.mark = Some(start);
    }

    /// The text so far; the flow starts anew.
    pub(super) fn take(&mut self) -> String {
        self.drop_mark();
        self.gap = Gap::None;
        std::mem::take(&mut self.text)
    }

    /// Takes back an opening bracket that `close` would leave around nothing but white space, where an icon was.
    fn empties_bracket(&mut self, close: char) -> bool {
        let open = match close {
            ')' => '(',
            '）' => '（',
            _ => return false,
        };
        let empty = self.text.ends_with(open) && matches!(self.gap, Gap::Space | Gap::Wrap);
        if empty {
            self.text.truncate(self.text.trim_end_matches(open).trim_end().len());
            self.gap = Gap::None;
        }
        empty
    }

    /// Takes back the mark of an item that stayed empty.
    fn drop_mark(&mut self) {
        if let Some(start) = self.mark.take() {
            self.text.truncate(start);
        }
    }

    /// Writes the gap owed before `next`.
    fn settle(&mut self, next: char) {
        self.mark = None;
        let gap = std::mem::take(&mut self.gap);
        let Some(last) = self.text.chars().next_back() else { return };
        match gap {
            Gap::None => {}
            Gap::Wrap if is_unspaced(last) && is_unspaced(next) => {}
            Gap::Wrap | Gap::Space => self.text.push(' '),
            Gap::Line => self.text.push('\n'),
            Gap::Paragraph => self.text.push_str("\n\n"),
        }
    }
}

/// Characters that show nothing: controls, zero-width spaces, direction marks, soft hyphens, icon-font glyphs.
/// Joiners stay, because scripts are spelled with them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || is_direction_mark(c)
        || matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{e000}'..='\u{f8ff}')
}

/// Japanese and Chinese characters, and their punctuation.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{30ff}' | '\u{31c0}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(write: impl FnOnce(&mut Flow), expected: &str) {
        let mut flow = Flow::default();
        write(&mut flow);
        assert_eq!(flow.take(), expected);
    }

    #[test]
    fn white_space_is_folded_and_trimmed() {
        check(|flow| flow.words("  a \t b\n  c\u{a0}d  "), "a b c d");
        check(
            |flow| {
                flow.words("a ");
                flow.words(" b");
                flow.words("c");
            },
            "a bc",
        );
    }

    #[test]
    fn a_wrapped_japanese_line_is_joined_without_a_space() {
        check(|flow| flow.words("設定を開き、\n  保存を押す。\nOK"), "設定を開き、保存を押す。 OK");
        check(|flow| flow.words("設定 画面"), "設定 画面");
    }

    #[test]
    fn the_greater_gap_wins() {
        check(
            |flow| {
                flow.words("a ");
                flow.apart(Gap::Paragraph);
                flow.apart(Gap::Line);
                flow.words("b");
                flow.apart(Gap::Line);
                flow.words("c");
                flow.apart(Gap::Paragraph);
            },
            "a\n\nb\nc",
        );
    }

    #[test]
    fn marks_stand_before_text_or_not_at_all() {
        check(
            |flow| {
                flow.mark("- ");
                flow.apart(Gap::Paragraph);
                flow.words(" one");
                flow.mark("- ");
                flow.mark("- ");
                flow.words("two");
                flow.mark("- ");
            },
            "- one\n- two",
        );
    }

    #[test]
    fn code_keeps_its_lines() {
        check(
            |flow| {
                flow.words("Run");
                flow.verbatim("\nif x:\n    y  \n\n\n\nz\n", Gap::Paragraph);
                flow.words("now");
            },
            "Run\n\nif x:\n    y\n\nz\n\nnow",
        );
    }

    #[test]
    fn brackets_around_nothing_are_dropped() {
        check(
            |flow| flow.words("Click Publish ( ) or call f() now"),
            "Click Publish or call f() now",
        );
        check(|flow| flow.words("公開（ ）を押す"), "公開を押す");
    }

    #[test]
    fn what_shows_nothing_is_dropped() {
        check(|flow| flow.words("a\u{200b}b\u{ad}c\u{202e}d\u{f0c1}e\u{7}"), "abcde");
    }
}
