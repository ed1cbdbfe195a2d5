//! [`Highlighter`]: where a question's words stand in a passage.

use std::collections::HashSet;
use std::ops::Range;

use analysis::{Analyzer, Word};

use super::question::Question;

/// Marks one question's words in any number of texts. What it marks is what the search counts.
#[derive(Clone, Debug)]
pub struct Highlighter {
    analyzer: Analyzer,
    /// Words, as the analyzer gives them.
    words: HashSet<String>,
    /// What the question breaks off in, as far as it has been typed.
    beginning: Option<String>,
}

impl Highlighter {
    /// Reads `question`, which must be what was searched for, with the `analyzer` of the index. With
    /// `last_word_is_prefix`, its last word also stands for all words that it may become.
    #[must_use]
    pub fn new(analyzer: Analyzer, question: &str, last_word_is_prefix: bool) -> Self {
        let mut words = HashSet::new();
        let mut beginning = None;
        for asked in Question::read(question, analyzer, last_word_is_prefix).words {
            words.extend(asked.terms);
            beginning = beginning.or(asked.prefix);
        }
        Self { analyzer, words, beginning }
    }

    /// The bytes of `text` that hold a word of the question, in order and without overlap. Ranges lie on
    /// character boundaries of `text` as given.
    #[must_use]
    pub fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for word in self.analyzer.words(text).into_iter().filter(|word| self.marks(word, text)) {
            match ranges.last_mut() {
                Some(last) if word.range.start < last.end => {
                    last.end = last.end.max(word.range.end);
                }
                _ => ranges.push(word.range),
            }
        }
        ranges
    }

    fn marks(&self, word: &Word, text: &str) -> bool {
        self.words.contains(&word.text)
            || self
                .beginning
                .as_deref()
                .is_some_and(|beginning| self.continues(beginning, word, text))
    }

    /// Whether `word` of `text` begins with `beginning`, as a stem or as it is written: what was typed may
    /// already be longer than the stem.
    fn continues(&self, beginning: &str, word: &Word, text: &str) -> bool {
        if word.text.starts_with(beginning) {
            return true;
        }
        let written = text.get(word.range.clone()).unwrap_or_default();
        // Folded in the same way as the beginning, by being read as one.
        self.analyzer.unfinished_word(written).is_some_and(|folded| {
            folded.range == (0..written.len()) && folded.text.starts_with(beginning)
        })
    }
}

#[cfg(test)]
mod tests {
    use analysis::{Han, Profile};
    use domain::Language;
    use proptest::prelude::*;

    use super::*;

    fn highlighter(question: &str, last_word_is_prefix: bool) -> Highlighter {
        let profile = Profile { han: Han::Japanese, latin: Language::ENGLISH };
        Highlighter::new(Analyzer::new(profile), question, last_word_is_prefix)
    }

    #[track_caller]
    fn check(question: &str, last_word_is_prefix: bool, text: &str, marked: &[&str]) {
        let ranges = highlighter(question, last_word_is_prefix).ranges(text);
        let found: Vec<&str> = ranges.into_iter().filter_map(|range| text.get(range)).collect();
        assert_eq!(found, marked, "{question:?} in {text:?}");
    }

    #[test]
    fn all_forms_of_a_word_are_marked_as_they_are_written() {
        check("reset password", false, "Resetting your PASSWORDS", &["Resetting", "PASSWORDS"]);
        check("パスワード", false, "新しいﾊﾟｽﾜｰﾄﾞ🔑", &["ﾊﾟｽﾜｰﾄﾞ"]);
        check("how do I", false, "How do I pay?", &[]);
    }

    #[test]
    fn parts_of_a_name_and_the_whole_are_one_mark() {
        check("wi-fi", false, "Turn on Wi-Fi.", &["Wi-Fi"]);
        check("fi", false, "Turn on Wi-Fi.", &["Fi"]);
    }

    #[test]
    fn an_unfinished_word_marks_what_it_may_become() {
        check("reset passw", true, "Reset a Password, pass it on", &["Reset", "Password"]);
        check("configuratio", true, "Configuration", &["Configuration"]);
        check("caf", true, "Café", &["Café"]);
        check("TG-10", true, "error TG-1042", &["TG", "1042"]);
        check("パス", true, "ﾊﾟｽﾜｰﾄﾞを変える", &["ﾊﾟｽﾜｰﾄﾞ"]);
        check("비밀", true, "비밀번호를 재설정", &["비밀번호를"]);
    }

    #[test]
    fn a_finished_word_marks_only_itself() {
        check("passw", false, "Password", &[]);
        check("passw ", true, "Password", &[]);
        check("pass word", true, "password", &[]);
    }

    proptest! {
        #[test]
        fn marks_of_any_text_are_in_order_apart_and_on_boundaries(
            text in prop_oneof![any::<String>(), "[a-cＡ-Ｃéﾊﾟﬃ😀한글漢字ひカ'@_ -]{0,60}"],
            question in "[a-céパ한漢カ -]{0,12}",
            last_word_is_prefix in any::<bool>(),
        ) {
            let ranges = highlighter(&question, last_word_is_prefix).ranges(&text);
            prop_assert!(ranges.iter().all(|range| text.get(range.clone()).is_some_and(|marked| !marked.is_empty())));
            prop_assert!(ranges.is_sorted_by(|a, b| a.end <= b.start));
        }
    }
}
