//! [`templated`]: the chosen pieces as an answer.

use analysis::Analyzer;
use domain::{Answer, AnswerKind, Citation, Hit, Question};

use crate::choose::{Chosen, choose};
use crate::citations::cite;
use crate::fit::{shortened, title_in_line};
use crate::part;
use crate::phrases::{Phrases, filled};
use crate::piece::Form;
use crate::score::Need;
use crate::settings::TemplateSettings;
use crate::source::{Source, read};

/// The answer that quotes the best sentences of the best of `hits` (best first), in plain text: a line that names
/// the article, its sentences each followed by its mark, lists line by line with one mark at their end, then a
/// sentence from each other relevant article.
///
/// Total: never empty while there are hits, and [`no_match`](crate::no_match) where there is none.
#[must_use]
pub fn templated(
    question: &Question,
    hits: &[Hit],
    analyzer: &Analyzer,
    settings: &TemplateSettings,
) -> Answer {
    let sources = read(hits, *analyzer);
    let Some(first) = sources.first() else { return crate::no_match(question, &[]) };
    let phrases = Phrases::of(question.lang());
    let need = Need::new(question, &sources, *analyzer);
    let mut draft = Draft {
        sources: &sources,
        phrases,
        settings,
        text: String::new(),
        cited: Vec::new(),
        last_form: Form::Sentence,
    };
    for chosen in choose(&sources, &need, settings) {
        draft.add(&chosen);
    }
    if draft.cited.is_empty() {
        draft.recommend(first);
    }
    let citations = draft.cited.into_iter().map(|cited| cited.citation).collect();
    Answer { kind: AnswerKind::Templated, text: draft.text, lang: phrases.language(), citations }
}

/// An answer being written.
struct Draft<'a> {
    sources: &'a [Source<'a>],
    phrases: &'static Phrases,
    settings: &'a TemplateSettings,
    text: String,
    /// The citations so far, in the order of their numbers.
    cited: Vec<Cited>,
    last_form: Form,
}

/// A citation and where it comes from.
struct Cited {
    /// Index of the source.
    source: usize,
    /// How much speaks for the quote.
    worth: f32,
    citation: Citation,
}

impl Draft<'_> {
    fn add(&mut self, chosen: &Chosen) {
        let source = &self.sources[chosen.source];
        let lines = self.lines(chosen);
        if lines.iter().all(|line| line.trim().is_empty()) {
            return;
        }
        self.lead_in(source, chosen.form);
        self.last_form = chosen.form;
        let n = self.number(chosen);
        self.text.push_str(&lines.join("\n"));
        push_mark(&mut self.text, n);
    }

    /// The quoted units, a line each.
    fn lines(&self, chosen: &Chosen) -> Vec<String> {
        let units = &self.sources[chosen.source].units;
        let mut lines: Vec<String> =
            chosen.units.iter().map(|&unit| units[unit].shown.clone()).collect();
        if chosen.broken_off {
            match lines.as_mut_slice() {
                [only] => *only = shortened(only, self.settings.longest),
                _ => lines.push("…".to_owned()),
            }
        }
        lines
    }

    /// Starts a new line or paragraph, and names the article where it is another one.
    fn lead_in(&mut self, source: &Source<'_>, form: Form) {
        let previous = self.cited.last().map(|cited| self.sources[cited.source].passage);
        let title = title_in_line(&source.passage.title);
        let title = if title.is_empty() {
            title_in_line(source.passage.article_id.as_str())
        } else {
            title
        };
        match previous {
            None => {
                self.text.push_str(&filled(self.phrases.from, &title));
                self.text.push('\n');
            }
            Some(previous) if previous.article_id != source.passage.article_id => {
                self.text.push_str("\n\n");
                self.text.push_str(&filled(self.phrases.also, &title));
            }
            Some(_) if form == Form::Sentence && self.last_form == form => self.text.push(' '),
            Some(_) => self.text.push('\n'),
        }
    }

    /// The number under which the piece's passage is cited. Its quote is the best of the pieces quoted from it.
    fn number(&mut self, chosen: &Chosen) -> u32 {
        let source = &self.sources[chosen.source];
        let index = self
            .cited
            .iter()
            .position(|cited| cited.source == chosen.source)
            .unwrap_or(self.cited.len());
        let n = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let citation = cite(source.passage, n, quote(source, chosen));
        let cited = Cited { source: chosen.source, worth: chosen.worth, citation };
        match self.cited.get_mut(index) {
            Some(before) if before.worth >= cited.worth => {}
            Some(before) => *before = cited,
            None => self.cited.push(cited),
        }
        n
    }

    /// Names the best hit, which has no text to quote.
    fn recommend(&mut self, source: &Source<'_>) {
        let title = title_in_line(&source.passage.title);
        let title = if title.is_empty() {
            title_in_line(source.passage.article_id.as_str())
        } else {
            title
        };
        self.text = filled(self.phrases.may_help, &title);
        push_mark(&mut self.text, 1);
        self.cited.push(Cited { source: 0, worth: 0.0, citation: cite(source.passage, 1, "") });
    }
}

/// The passage's own text from the first to the last unit quoted, if nothing between them was left out; else the first.
fn quote<'s>(source: &'s Source<'_>, chosen: &Chosen) -> &'s str {
    let (Some(&first), Some(&last)) = (chosen.units.first(), chosen.units.last()) else {
        return "";
    };
    let last = if last - first + 1 == chosen.units.len() { last } else { first };
    let range = source.units[first].sentence.range.start..source.units[last].sentence.range.end;
    part(&source.passage.text, range)
}

/// Adds the mark: behind a space, but right behind Japanese punctuation.
fn push_mark(text: &mut String, n: u32) {
    if !text.ends_with(['。', '！', '？', '」', '』', '）']) {
        text.push(' ');
    }
    text.push_str(&format!("[{n}]"));
}
