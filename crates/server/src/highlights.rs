//! [`Highlights`]: marks for a search box, in offsets that any client can use.

use analysis::Analyzer;
use search::Highlighter;

/// Marks the words of one question, its unfinished last one included.
#[derive(Debug)]
pub(crate) struct Highlights(Highlighter);

impl Highlights {
    pub(crate) fn new(analyzer: Analyzer, question: &str) -> Self {
        Self(Highlighter::new(analyzer, question, true))
    }

    /// `[start, end)` in Unicode code points of `text`, because clients count in neither our bytes nor
    /// each other's units.
    pub(crate) fn of(&self, text: &str) -> Vec<[usize; 2]> {
        let mut points = 0;
        let mut counted = 0;
        // Ranges come in order, so each stretch of text is counted once.
        let mut point = |bytes: usize| {
            points += text.get(counted..bytes).map_or(0, |stretch| stretch.chars().count());
            counted = bytes;
            points
        };
        let ranges = self.0.ranges(text);
        ranges.into_iter().map(|range| [point(range.start), point(range.end)]).collect()
    }
}
