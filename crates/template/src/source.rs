//! A hit, read: its sentences, what they say, and how they are shown.

use std::collections::{HashMap, HashSet};

use analysis::Analyzer;
use domain::{ArticleId, Hit, Passage};

use crate::block::{Kind, list_marker};
use crate::fit::{in_line, length};
use crate::part;
use crate::sentence::{self, Sentence};

/// Hits looked at; those further down hardly ever answer, and reading each costs time.
const CONSIDERED: usize = 10;

/// One hit's passage, read.
pub(crate) struct Source<'h> {
    pub passage: &'h Passage,
    /// Place among the hits, from 0.
    pub rank: usize,
    /// How well its article did in the search beside the best one, 0…1; the best one has 1.
    pub article_strength: f32,
    pub units: Vec<Unit>,
    /// Content words of title and headings.
    pub context: HashSet<String>,
}

/// One sentence, item, row or heading of a passage.
pub(crate) struct Unit {
    pub sentence: Sentence,
    pub words: HashSet<String>,
    /// As it appears in an answer.
    pub shown: String,
}

impl Unit {
    /// Whether it has a number in it, that of a list item apart.
    pub(crate) fn says_a_figure(&self) -> bool {
        let marker = list_marker(&self.shown).map_or(0, |marker| marker.length);
        part(&self.shown, marker..self.shown.len()).contains(char::is_numeric)
    }

    /// Whether there is anything to read in it; the line under a table's head has nothing.
    pub(crate) fn has_words(&self) -> bool {
        self.shown.contains(char::is_alphanumeric)
    }

    /// Whether it announces what follows it (`Do this:`).
    pub(crate) fn announces(&self) -> bool {
        self.shown.ends_with([':', '：'])
    }

    /// Whether, as the first unit of a list or table, it is no item of it: an announcement, or a row of column names (in
    /// other rows, each cell carries its column's name).
    pub(crate) fn heads_a_list(&self) -> bool {
        match self.sentence.kind {
            Kind::Prose => self.announces(),
            Kind::Row => !self.shown.contains(": "),
            Kind::Step | Kind::Bullet | Kind::Heading => false,
        }
    }

    /// Whether it is a line of code: at least three, and 3 %, of its characters are ones that prose hardly has.
    pub(crate) fn is_code(&self) -> bool {
        let odd = self.shown.matches(['{', '}', '=', '\\', ';', '$', '_']).count();
        odd >= 3 && odd * 100 >= self.length() * 3
    }

    /// Characters it takes in an answer.
    pub(crate) fn length(&self) -> usize {
        length(&self.shown)
    }
}

/// Reads the first hits.
pub(crate) fn read<'h>(hits: &'h [Hit], analyzer: Analyzer) -> Vec<Source<'h>> {
    let mut strengths: HashMap<&ArticleId, f32> = HashMap::new();
    let top = hits.first().map_or(1.0, |hit| hit.score.max(f32::MIN_POSITIVE));
    let mut sources = Vec::new();
    for (rank, hit) in hits.iter().take(CONSIDERED).enumerate() {
        // Hits are best first, so an article's first one is its best.
        let strength = (hit.score / top).clamp(0.0, 1.0);
        let article_strength = *strengths.entry(&hit.passage.article_id).or_insert(strength);
        let (units, context) = read_passage(&hit.passage, analyzer);
        sources.push(Source { passage: &hit.passage, rank, article_strength, units, context });
    }
    sources
}

fn read_passage(passage: &Passage, analyzer: Analyzer) -> (Vec<Unit>, HashSet<String>) {
    let sentences = sentence::units(&passage.text).into_iter();
    let units = sentences.map(|sentence| Unit::new(passage, sentence, analyzer)).collect();
    let above = std::iter::once(&passage.title).chain(&passage.headings);
    let context = above.flat_map(|line| analyzer.words(line)).map(|word| word.text).collect();
    (units, context)
}

impl Unit {
    fn new(passage: &Passage, sentence: Sentence, analyzer: Analyzer) -> Self {
        let text = part(&passage.text, sentence.range.clone());
        let words = analyzer.words(text).into_iter().map(|word| word.text).collect();
        let indent = if is_nested(&passage.text, &sentence) { "  " } else { "" };
        let shown = format!("{indent}{}", in_line(text));
        Self { sentence, words, shown }
    }
}

/// Whether a list item stands below another one.
fn is_nested(text: &str, sentence: &Sentence) -> bool {
    let before = part(text, 0..sentence.range.start);
    let indent = before.len() - before.trim_end_matches([' ', '\t']).len();
    matches!(sentence.kind, Kind::Step | Kind::Bullet) && indent >= 2
}
