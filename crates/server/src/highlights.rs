//! [`Highlights`]: marks for a search box, in offsets that any client can use.

use std::sync::Arc;

use search::{Generation, highlight};

/// Marks the words of one question.
#[derive(Clone, Debug)]
pub(crate) struct Highlights {
    generation: Arc<Generation>,
    question: String,
}

impl Highlights {
    pub(crate) fn new(generation: Arc<Generation>, question: &str) -> Self {
        Self { generation, question: question.to_owned() }
    }

    /// `[start, end)` in Unicode code points of `text`, because clients count in neither our bytes nor
    /// each other's units.
    pub(crate) fn of(&self, text: &str) -> Vec<[usize; 2]> {
        let analyzer = self.generation.keyword().analyzer();
        let points = |bytes: usize| text.get(..bytes).map_or(0, |before| before.chars().count());
        highlight(&analyzer, &self.question, text)
            .into_iter()
            .map(|range| [points(range.start), points(range.end)])
            .collect()
    }
}
