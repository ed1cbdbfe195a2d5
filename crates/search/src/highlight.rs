//! Where a question's words stand in a passage.

use std::collections::HashSet;
use std::ops::Range;

use analysis::Analyzer;

/// The bytes of `text` that hold a word of `question`, in order and without overlap. Ranges lie on
/// character boundaries of `text` as given.
#[must_use]
pub fn highlight(analyzer: &Analyzer, question: &str, text: &str) -> Vec<Range<usize>> {
    let wanted: HashSet<String> =
        analyzer.words(question).into_iter().map(|word| word.text).collect();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for word in analyzer.words(text).into_iter().filter(|word| wanted.contains(&word.text)) {
        match ranges.last_mut() {
            Some(last) if word.range.start < last.end => last.end = last.end.max(word.range.end),
            _ => ranges.push(word.range),
        }
    }
    ranges
}
