//! What a question asks the index for.

use std::collections::HashSet;

use analysis::Analyzer;

/// Known words beyond this, rarest first, are left out: a pasted log must not cost more than a question.
pub(super) const MOST_WORDS: usize = 64;
/// Likewise for bigrams.
pub(super) const MOST_BIGRAMS: usize = 64;
/// A typed word may be longer than its stem by this many letters ("configuratio", "configur").
const LONGEST_ENDING: usize = 4;
/// Beginnings shorter than this say too little to stand for a word.
const SHORTEST_STEM: usize = 5;

/// Distinct words and bigrams, in the question's order.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) words: Vec<Asked>,
    pub(super) bigrams: Vec<Asked>,
}

/// One thing asked for: a passage that holds any of the spellings holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) terms: Vec<String>,
    /// A beginning whose continuations count as well.
    pub(super) prefix: Option<String>,
}

impl Asked {
    fn exactly(term: String) -> Self {
        Self { terms: vec![term], prefix: None }
    }
}

impl Question {
    /// Reads `text`; when its last word may be unfinished, whatever that may become counts.
    pub(super) fn read(text: &str, analyzer: Analyzer, last_word_is_prefix: bool) -> Self {
        let unfinished = if last_word_is_prefix { Unfinished::of(text, analyzer) } else { None };
        let finished_end = unfinished.as_ref().map_or(text.len(), |unfinished| unfinished.start);
        let finished =
            analyzer.words(text).into_iter().filter(|word| word.range.end <= finished_end);
        let mut seen = HashSet::new();
        let mut words: Vec<Asked> = finished
            .filter(|word| seen.insert(word.text.clone()))
            .map(|word| Asked::exactly(word.text))
            .collect();
        words.extend(unfinished.map(|unfinished| unfinished.asked));
        let mut seen = HashSet::new();
        let bigrams = analyzer
            .bigrams(text)
            .into_iter()
            .filter(|pair| seen.insert(pair.text.clone()))
            .map(|pair| Asked::exactly(pair.text))
            .collect();
        Self { words, bigrams }
    }
}

/// The word that a text breaks off in.
struct Unfinished {
    asked: Asked,
    /// Where it starts in the text.
    start: usize,
}

impl Unfinished {
    fn of(text: &str, analyzer: Analyzer) -> Option<Self> {
        let typed = analyzer.unfinished_word(text)?;
        let stems = analyzer.words(text).into_iter().filter(|word| word.range == typed.range);
        let mut terms: Vec<String> =
            stems.map(|word| word.text).chain(possible_stems(&typed.text)).collect();
        terms.sort_unstable();
        terms.dedup();
        let start = typed.range.start;
        Some(Self { asked: Asked { terms, prefix: Some(typed.text) }, start })
    }
}

/// Beginnings of `typed` that may be its stem.
fn possible_stems(typed: &str) -> impl Iterator<Item = String> {
    let ends: Vec<usize> = typed.char_indices().map(|(at, _)| at).collect();
    let shortest = ends.len().saturating_sub(LONGEST_ENDING).max(SHORTEST_STEM);
    let stems: Vec<String> =
        ends.iter().skip(shortest).filter_map(|end| typed.get(..*end).map(str::to_owned)).collect();
    stems.into_iter()
}

#[cfg(test)]
mod tests {
    use analysis::{Han, Profile};
    use domain::Language;

    use super::*;

    fn read(text: &str, last_word_is_prefix: bool) -> Question {
        let profile = Profile { han: Han::Japanese, latin: Language::ENGLISH };
        Question::read(text, Analyzer::new(profile), last_word_is_prefix)
    }

    #[track_caller]
    fn check(text: &str, last_word_is_prefix: bool, words: &[(&[&str], Option<&str>)]) {
        let found = read(text, last_word_is_prefix).words;
        let expected: Vec<Asked> = words
            .iter()
            .map(|(terms, prefix)| Asked {
                terms: terms.iter().map(|&term| term.to_owned()).collect(),
                prefix: prefix.map(str::to_owned),
            })
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn each_word_is_asked_for_once() {
        check("reset the password, RESET it", false, &[(&["reset"], None), (&["password"], None)]);
    }

    #[test]
    fn the_last_word_stands_for_what_it_may_become() {
        check("reset passw", true, &[(&["reset"], None), (&["passw"], Some("passw"))]);
        check("reset passw ", true, &[(&["reset"], None), (&["passw"], None)]);
        check("th", true, &[(&["th"], Some("th"))]);
        check(
            "configuratio",
            true,
            &[(
                &["configur", "configura", "configurat", "configurati", "configuratio"],
                Some("configuratio"),
            )],
        );
        check(
            "暗証番号のパスワ",
            true,
            &[(&["暗証"], None), (&["番号"], None), (&[], Some("パスワ"))],
        );
        check("暗証番号", true, &[(&["暗証"], None), (&["番号"], None)]);
    }

    #[test]
    fn query_syntax_is_only_text() {
        check("title:pin AND (((", false, &[(&["titl"], None), (&["pin"], None)]);
    }

    #[test]
    fn bigrams_are_asked_for_once() {
        let pairs: Vec<_> =
            read("申込の申込", false).bigrams.into_iter().flat_map(|pair| pair.terms).collect();
        assert_eq!(pairs, ["申込", "込の", "の申"]);
    }
}
