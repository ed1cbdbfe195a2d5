//! Answers that quote nothing.

use std::collections::HashSet;

use domain::{Answer, AnswerKind, Hit, Question};

use crate::fit::title_in_line;
use crate::phrases::{Phrases, filled};

/// Articles named in a `no_match` at most: these are near misses, not answers.
const MOST_SUGGESTIONS: usize = 3;

/// The answer when nothing in the articles answers: says so, names the articles of `suggestions` (best first)
/// and what to try. Without citations.
///
/// True only if the keyword search ended well; otherwise the answer is [`out_of_time`], whatever the vector
/// search found.
#[must_use]
pub fn no_match(question: &Question, suggestions: &[Hit]) -> Answer {
    let phrases = Phrases::of(question.lang());
    let mut lines = vec![phrases.no_match.to_owned()];
    let titles = suggested_titles(suggestions, phrases);
    if !titles.is_empty() {
        lines.push(filled(phrases.perhaps, &titles.join(phrases.between)));
    }
    lines.push(phrases.what_now.to_owned());
    plain(phrases, lines.join("\n\n"))
}

/// The answer when there is none to give and the keyword search did not end well, so that nobody can tell whether
/// the articles answer: says so, and asks to try again. Without citations. If the keyword search ended well, it
/// is [`no_match`].
#[must_use]
pub fn out_of_time(question: &Question) -> Answer {
    let phrases = Phrases::of(question.lang());
    plain(phrases, phrases.out_of_time.to_owned())
}

fn plain(phrases: &Phrases, text: String) -> Answer {
    Answer { kind: AnswerKind::NoMatch, text, lang: phrases.language(), citations: Vec::new() }
}

/// The titles of the first few articles, each once.
fn suggested_titles(suggestions: &[Hit], phrases: &Phrases) -> Vec<String> {
    let mut seen = HashSet::new();
    suggestions
        .iter()
        .map(|hit| &hit.passage)
        .filter(|passage| !passage.title.trim().is_empty() && seen.insert(&passage.article_id))
        .take(MOST_SUGGESTIONS)
        .map(|passage| filled(phrases.title, &title_in_line(&passage.title)))
        .collect()
}
