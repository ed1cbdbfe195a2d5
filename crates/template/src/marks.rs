//! Citation marks in text: `[1]`, `[1, 2]`, `[1-3]`, and the full-width `【1】` and `［1］` some models write.

use std::ops::Range;

use crate::part;

/// The widest `[a-b]` that is read as a list; a wider one names no passage.
const WIDEST_SPAN: u32 = 20;

/// One bracket of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub range: Range<usize>,
    /// The numbers named, in order; 0 stands for one that cannot name anything.
    pub numbers: Vec<u32>,
}

/// The marks of `text`, in order.
pub(crate) fn marks(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(['[', '【', '［'])) {
        at += found;
        match mark_at(text, at) {
            Some(mark) => {
                at = mark.range.end;
                marks.push(mark);
            }
            None => at += part(text, at..text.len()).chars().next().map_or(1, char::len_utf8),
        }
    }
    marks
}

/// Bytes of the marks that `text` starts with, the spaces before each among them.
pub(crate) fn leading(text: &str) -> usize {
    let mut length = 0;
    loop {
        let rest = part(text, length..text.len());
        let gap = rest.len() - rest.trim_start_matches(' ').len();
        match mark_at(text, length + gap) {
            Some(mark) => length = mark.range.end,
            None => return length,
        }
    }
}

/// `text` with every mark taken out, as for looking at its words.
pub(crate) fn without(text: &str) -> String {
    replaced(text, |_, _| String::new())
}

/// `text` with its own bracketed numbers in round brackets, so that they cannot be taken for citations.
pub fn disarmed(text: &str) -> String {
    replaced(text, |_, inside| format!("({inside})"))
}

/// `text` with each mark replaced by what `replacement` makes of it and of what is between its brackets.
fn replaced(text: &str, replacement: impl Fn(&Mark, &str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for mark in marks(text) {
        out.push_str(part(text, at..mark.range.start));
        let inside =
            part(text, mark.range.clone()).trim_matches(['[', ']', '【', '】', '［', '］']);
        out.push_str(&replacement(&mark, inside));
        at = mark.range.end;
    }
    out.push_str(part(text, at..text.len()));
    out
}

fn mark_at(text: &str, start: usize) -> Option<Mark> {
    let rest = text.get(start..)?;
    let brackets = [('[', ']'), ('【', '】'), ('［', '］')];
    let (inside, close) =
        brackets.into_iter().find_map(|(open, close)| Some((rest.strip_prefix(open)?, close)))?;
    let list = part(inside, 0..inside.find(close)?);
    let numbers = numbers(list)?;
    let opened = rest.len() - inside.len();
    Some(Mark { range: start..start + opened + list.len() + close.len_utf8(), numbers })
}

/// The numbers of a list such as `1`, `1, 2` or `1-3`; `None` for anything else.
fn numbers(list: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in list.split([',', ';', '、', '，']) {
        let entry = entry.trim_matches(' ');
        match entry.split_once(['-', '–']) {
            Some((first, last)) => match (number(first)?, number(last)?) {
                (first, last) if first <= last && last - first < WIDEST_SPAN => {
                    numbers.extend(first..=last);
                }
                _ => numbers.push(0),
            },
            None => numbers.push(number(entry)?),
        }
    }
    Some(numbers)
}

fn number(digits: &str) -> Option<u32> {
    let digits: Option<String> = digits.chars().map(ascii_digit).collect();
    let digits = digits.filter(|digits| !digits.is_empty())?;
    Some(digits.parse().unwrap_or(0))
}

/// `c` as an ASCII digit, if it is a digit of either width.
fn ascii_digit(c: char) -> Option<char> {
    match c {
        '0'..='9' => Some(c),
        '０'..='９' => char::from_digit(u32::from(c) - u32::from('０'), 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&[u32]]) {
        let found: Vec<_> = marks(text).into_iter().map(|mark| mark.numbers).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn every_way_of_writing_a_mark_is_read() {
        check("a [1] b[2].", &[&[1], &[2]]);
        check("[1][2] [3, 4]", &[&[1], &[2], &[3, 4]]);
        check("【5】 [6-8] [9、10]", &[&[5], &[6, 7, 8], &[9, 10]]);
        check("[[1]]", &[&[1]]);
    }

    #[test]
    fn what_names_no_passage_is_a_mark_all_the_same() {
        check("[0] [99999999999] [3-1] [1-900]", &[&[0], &[0], &[0], &[0]]);
    }

    #[test]
    fn other_brackets_are_text() {
        check("[Settings] [] [1a] [-1] [1,] [ ] [1\n] (1) [1", &[]);
    }

    #[test]
    fn leading_marks_are_measured_with_the_spaces_before_them() {
        assert_eq!(leading(" [1] [2] Then"), 8);
        assert_eq!(leading("[1]"), 3);
        assert_eq!(leading(" Then [1]"), 0);
    }

    #[test]
    fn disarmed_text_has_no_marks() {
        assert_eq!(disarmed("See [2], 【3】 and [x]."), "See (2), (3) and [x].");
        assert_eq!(disarmed("[[1]] [1[2]"), "[(1)] [1(2)");
        assert_eq!(without("Open it [1]."), "Open it .");
    }
}
