//! Words of scripts that put no spaces between them: Japanese by lattice, Chinese and the languages of
//! South-East Asia by ICU's dictionaries.

use std::cell::RefCell;
use std::ops::Range;

use icu_segmenter::WordSegmenter;
use icu_segmenter::options::WordBreakInvariantOptions;
use japanese::{Dictionary, Segmenter};

use crate::runs::{Kind, is_hiragana_only};
use crate::stop_words;

/// The content words of all Japanese stretches of a folded text, as lemmas with their places.
///
/// The whole text goes through one lattice, other scripts included: how 「の」 in 「thunderbirdの設定」 is
/// read depends on a noun standing before it.
pub(crate) fn japanese_words(text: &str) -> Vec<(&str, Range<usize>)> {
    thread_local! {
        /// One lattice per thread: its many small lists are worth keeping.
        static SEGMENTER: RefCell<Segmenter<'static>> = RefCell::new(Segmenter::new(Dictionary::bundled()));
    }
    let mut tokens = SEGMENTER.with_borrow_mut(|segmenter| segmenter.tokens(text));
    tokens.retain(|token| {
        token.is_content
            && is_ideographic(text, token.range.clone())
            && !stop_words::is_japanese(token.lemma)
    });
    tokens.into_iter().map(|token| (token.lemma, token.range)).collect()
}

/// The dictionary words of one run. Hiragana-only words are left out: in Chinese text they are quotations.
pub(crate) fn icu_words(text: &str, run: Range<usize>) -> Vec<Range<usize>> {
    let words = text.get(run.clone()).unwrap_or_default();
    let breaks: Vec<usize> = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default())
        .segment_str(words)
        .collect();
    let pairs = breaks.windows(2).map(|ends| run.start + ends[0]..run.start + ends[1]);
    pairs
        .filter(|word| text.get(word.clone()).is_some_and(|word| !is_hiragana_only(word)))
        .collect()
}

fn is_ideographic(text: &str, range: Range<usize>) -> bool {
    let first = text.get(range).and_then(|word| word.chars().next());
    first.is_some_and(|c| Kind::of(c) == Kind::Ideographic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn japanese_words_are_lemmas_without_empty_nouns() {
        let words: Vec<_> =
            japanese_words("pinを変える事について").into_iter().map(|(lemma, _)| lemma).collect();
        assert_eq!(words, ["変える"]);
    }

    #[test]
    fn chinese_words_come_from_the_dictionary() {
        let text = "如何更改密码";
        let words: Vec<_> =
            icu_words(text, 0..text.len()).into_iter().filter_map(|word| text.get(word)).collect();
        assert_eq!(words, ["如何", "更改", "密码"]);
    }
}
