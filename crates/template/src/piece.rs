//! What can be quoted as one: a sentence, or a list with the line that announces it.

use std::collections::HashSet;
use std::ops::Range;

use crate::block::Kind;
use crate::phrases::Phrases;
use crate::source::{Source, Unit};

/// Units of one passage that are quoted together or not at all.
pub(crate) struct Piece {
    /// Index of the source.
    pub source: usize,
    pub form: Form,
    /// Indices of units, the announcement of a list among them.
    pub units: Range<usize>,
    pub words: HashSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Sentence,
    Steps,
    Bullets,
    Table,
}

/// The pieces of a source, in reading order; headings are none.
pub(crate) fn pieces(index: usize, source: &Source<'_>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < source.units.len() {
        let (form, end) = piece_from(&source.units, start);
        if let Some(form) = form {
            let units = start..end;
            let words = source.units[units.clone()]
                .iter()
                .flat_map(|unit| unit.words.iter().cloned())
                .collect();
            pieces.push(Piece { source: index, form, units, words });
        }
        start = end;
    }
    pieces
}

/// The form of the piece that starts at `start`, and where it ends.
fn piece_from(units: &[Unit], start: usize) -> (Option<Form>, usize) {
    let kind_at = |index: usize| units.get(index).map(|unit: &Unit| unit.sentence.kind);
    let announces = units.get(start).is_some_and(Unit::announces);
    let list = if kind_at(start) == Some(Kind::Prose) && announces { start + 1 } else { start };
    let run = |kinds: &[Kind]| {
        (list..units.len())
            .find(|&i| !kinds.contains(&units[i].sentence.kind))
            .unwrap_or(units.len())
    };
    match kind_at(list) {
        Some(Kind::Step) => (Some(Form::Steps), run(&[Kind::Step, Kind::Bullet])),
        Some(Kind::Bullet) => (Some(Form::Bullets), run(&[Kind::Step, Kind::Bullet])),
        Some(Kind::Row) => (Some(Form::Table), run(&[Kind::Row])),
        Some(Kind::Heading) if list == start => (None, start + 1),
        Some(Kind::Prose | Kind::Heading) | None => (Some(Form::Sentence), start + 1),
    }
}

impl Piece {
    /// Whether it tells a reader something by itself: no question, no pointer to other pages, no announcement of what
    /// is not there, no code, and not too short.
    pub(crate) fn stands_alone(&self, source: &Source<'_>) -> bool {
        if self.form != Form::Sentence {
            return !self.words.is_empty();
        }
        let Some(unit) = source.units.get(self.units.start) else { return false };
        let asks = unit.shown.ends_with(['?', '？']);
        let points = starts_with_any(unit, Phrases::of(source.passage.lang).points_elsewhere);
        self.words.len() > 1 && !asks && !unit.announces() && !points && !unit.is_code()
    }

    /// Whether it needs the sentence before it to be understood.
    pub(crate) fn leans_back(&self, source: &Source<'_>) -> bool {
        let first = source.units.get(self.units.start);
        first.is_some_and(|unit| starts_with_any(unit, Phrases::of(source.passage.lang).leans_back))
    }

    /// Whether two pieces say nearly the same: at least seven tenths of all their words are common.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        let shared = self.words.intersection(&other.words).count();
        let all = self.words.len() + other.words.len() - shared;
        shared * 10 >= all * 7
    }
}

fn starts_with_any(unit: &Unit, openers: &[&str]) -> bool {
    let text = unit.shown.to_lowercase();
    openers.iter().any(|opener| text.starts_with(opener))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use analysis::{Analyzer, Han, Profile};
    use domain::{ArticleId, Hit, Language, Passage, PassageId};

    use super::*;
    use crate::source::read;

    fn hit(text: &str) -> Hit {
        let passage = Passage {
            id: PassageId::from_bytes([0; 16]),
            article_id: ArticleId::new("a"),
            title: String::new(),
            headings: Vec::new(),
            url: None,
            lang: Language::ENGLISH,
            tags: Vec::new(),
            ordinal: 0,
            text: text.to_owned(),
        };
        Hit { passage: Arc::new(passage), score: 1.0, keyword_rank: None, cosine: None }
    }

    /// Checks each piece's form, number of units and whether it stands alone.
    #[track_caller]
    fn check(text: &str, expected: &[(Form, usize, bool)]) {
        let hits = [hit(text)];
        let sources =
            read(&hits, Analyzer::new(Profile { han: Han::Japanese, latin: Language::ENGLISH }));
        let found: Vec<_> = pieces(0, &sources[0])
            .iter()
            .map(|piece| (piece.form, piece.units.len(), piece.stands_alone(&sources[0])))
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn a_list_is_one_piece_with_the_line_that_announces_it() {
        check(
            "To cancel your plan:\n1. Open Settings\n  - on the web\n2. Tap Cancel\n\nYour photos are kept.",
            &[(Form::Steps, 4, true), (Form::Sentence, 1, true)],
        );
        check(
            "Members have roles.\n\n- Owner\n- Editor",
            &[(Form::Sentence, 1, true), (Form::Bullets, 2, true)],
        );
        check("Plan: Free | Price: 0\nPlan: Plus | Price: 4", &[(Form::Table, 2, true)]);
    }

    #[test]
    fn what_tells_nothing_by_itself_does_not_stand_alone() {
        for text in [
            "Where are my photos?",
            "See also the page on refunds.",
            "Photo plans differ:",
            "Refunds.",
            "curl -F a=1 -F b=2 -F c_d=3 https://tsumugi.example",
            "![The settings screen](screen.png)",
        ] {
            check(text, &[(Form::Sentence, 1, false)]);
        }
    }
}
