//! How well a piece answers a question.

use std::collections::{HashMap, HashSet};

use analysis::Analyzer;
use domain::{Language, Question};

use crate::phrases::Phrases;
use crate::piece::{Form, Piece};
use crate::source::Source;

// A sentence that has all the question's words has 1 for them; the other weights are relative to that. Set by
// reading the answers that `examples/preview.rs` prints.
/// The question's words in title and headings that the piece itself lacks.
const CONTEXT: f32 = 0.5;
/// A further word of the question in another item of a list: a long list has many words by chance.
const FURTHER_ITEM: f32 = 0.3;
/// The article of the first hit; others have less, by how far behind they are. Large, because search has seen more than
/// the words that this looks at.
const ARTICLE: f32 = 0.5;
/// Fused scores of neighbouring ranks differ by a tenth, which is little evidence; this power makes a quarter of it.
const ARTICLE_SHARPNESS: i32 = 3;
/// The first hit itself, in the same way.
const PASSAGE_RANK: f32 = 0.1;
/// The first piece of a passage; those after it have less.
const POSITION: f32 = 0.1;
/// Steps, for a question that asks how; by the evidence that they are the right ones.
const STEPS: f32 = 0.3;
/// A start such as `It` or `その`.
const LEANS_BACK: f32 = -0.15;
/// Text in another language than the question's, which cannot have its words: search found it all the same.
const FOREIGN: f32 = 0.2;
/// A figure, for a question that asks for one.
const FIGURE: f32 = 0.15;

/// A question's words, weighted by how rare each is among the hits.
pub(crate) struct Need {
    weights: HashMap<String, f32>,
    total: f32,
    lang: Language,
    asks_how: bool,
    asks_figure: bool,
}

/// What speaks for a piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Score {
    /// The share of the question's words that the piece has, 0…1, by weight.
    pub coverage: f32,
    /// Coverage, and that of title and headings at a discount: how much speaks for it that is in the text.
    pub evidence: f32,
    /// Evidence, form and place in the article: comparable within one article.
    pub within: f32,
    /// All of that and the article's place: comparable within one answer.
    pub total: f32,
}

impl Need {
    pub(crate) fn new(question: &Question, sources: &[Source<'_>], analyzer: Analyzer) -> Self {
        let words: HashSet<String> =
            analyzer.words(question.text()).into_iter().map(|word| word.text).collect();
        let holds = |source: &Source<'_>, word: &String| {
            source.context.contains(word)
                || source.units.iter().any(|unit| unit.words.contains(word))
        };
        // A word that no hit has weighs as much as the rarest: what little the others match is then no full match.
        let rarity = |word: &String| {
            let with = sources.iter().filter(|source| holds(source, word)).count().max(1);
            (2.0 + sources.len() as f32 / with as f32).ln()
        };
        let weights: HashMap<String, f32> = words
            .into_iter()
            .map(|word| {
                let weight = rarity(&word);
                (word, weight)
            })
            .collect();
        let total = weights.values().sum::<f32>().max(f32::MIN_POSITIVE);
        let phrases = Phrases::of(question.lang());
        let asks = |words| contains_any(question.text(), words);
        let (asks_how, asks_figure) = (asks(phrases.asks_how), asks(phrases.asks_figure));
        Self { weights, total, lang: question.lang(), asks_how, asks_figure }
    }

    /// Whether the question asks for steps.
    pub(crate) fn asks_how(&self) -> bool {
        self.asks_how
    }

    /// The share of the need that `words` have.
    pub(crate) fn coverage<'w>(&self, words: impl IntoIterator<Item = &'w String>) -> f32 {
        words.into_iter().filter_map(|word| self.weights.get(word)).sum::<f32>() / self.total
    }

    pub(crate) fn score(&self, piece: &Piece, source: &Source<'_>) -> Score {
        let units = source.units.get(piece.units.clone()).unwrap_or_default();
        let best = units.iter().map(|unit| self.coverage(&unit.words)).fold(0.0, f32::max);
        let coverage = best + FURTHER_ITEM * (self.coverage(&piece.words) - best);
        let context = self.coverage(source.context.difference(&piece.words));
        let evidence = coverage + CONTEXT * context;
        let steps = if self.asks_how && piece.form == Form::Steps { STEPS * evidence } else { 0.0 };
        let leans = if piece.leans_back(source) { LEANS_BACK } else { 0.0 };
        let has_figure = units.iter().any(|unit| unit.says_a_figure());
        let figure = if self.asks_figure && has_figure { FIGURE } else { 0.0 };
        let foreign = if source.passage.lang == self.lang { 0.0 } else { FOREIGN };
        let place =
            POSITION / (1.0 + piece.units.start as f32) + PASSAGE_RANK / (1.0 + source.rank as f32);
        let within = evidence + steps + figure + leans + place;
        let total = within + foreign + ARTICLE * source.article_strength.powi(ARTICLE_SHARPNESS);
        Score { coverage, evidence, within, total }
    }
}

fn contains_any(question: &str, words: &[&str]) -> bool {
    let question = question.to_lowercase();
    words.iter().any(|word| question.contains(word))
}
