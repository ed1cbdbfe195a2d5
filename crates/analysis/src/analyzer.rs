//! [`Analyzer`]: the one way to words, for articles and for questions.

use std::ops::Range;

use crate::fold::{Folded, fold};
use crate::runs::{Kind, runs};
use crate::stems::{Stems, without_accents};
use crate::{Han, Profile, alphabetic, bigrams, ideographic, korean};

/// A content word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The stem or lemma: equal for all forms of one word.
    pub text: String,
    /// Bytes of the text that was analysed, as given (not of its normalised form).
    pub range: Range<usize>,
}

/// Cuts texts into words. Cheap to clone.
#[derive(Clone, Copy, Debug)]
pub struct Analyzer {
    profile: Profile,
}

impl Analyzer {
    /// An analyzer for collections of this profile.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self { profile }
    }

    /// What was given to [`new`](Self::new).
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The content words of `text`, ordered by where they start. A name such as `TG-1042` gives its parts
    /// and itself, so ranges may overlap.
    #[must_use]
    pub fn words(&self, text: &str) -> Vec<Word> {
        let folded = fold(text);
        let mut words = self.words_without_spaces(folded.as_str());
        words.extend(alphabetic::words(folded.as_str(), Stems::new(self.profile.latin)));
        words.sort_by_key(|(_, range)| (range.start, range.end));
        words.into_iter().map(|(text, range)| in_original(text, range, &folded)).collect()
    }

    /// Pairs of neighbouring ideographs, kana or Hangul syllables, in order, without pairs of hiragana
    /// only; a character that stands alone is given as it is. Empty for alphabetic texts.
    #[must_use]
    pub fn bigrams(&self, text: &str) -> Vec<Word> {
        let folded = fold(text);
        let pair = |range: Range<usize>| {
            let text = folded.as_str().get(range.clone()).unwrap_or_default().to_owned();
            in_original(text, range, &folded)
        };
        bigrams::bigrams(folded.as_str()).into_iter().map(pair).collect()
    }

    /// The word that `text` ends in, as far as it has been typed: a beginning of words that
    /// [`words`](Self::words) would give. Letters are folded, but not stemmed, and given even when they are
    /// a stop word so far; of Japanese, only katakana are a beginning. `None` where the text ends in
    /// anything else.
    #[must_use]
    pub fn unfinished_word(&self, text: &str) -> Option<Word> {
        let folded = fold(text);
        let text = folded.as_str();
        let (kind, run) = runs(text).last().filter(|(_, run)| run.end == text.len())?;
        let (word, range) = match kind {
            Kind::Alphabetic => (without_accents(text.get(run.clone())?), run),
            Kind::Hangul => (korean::word(text, run.clone())?.to_owned(), run),
            Kind::Ideographic => {
                let start = katakana_start(text)?;
                (text.get(start..)?.to_owned(), start..text.len())
            }
            Kind::SouthEastAsian | Kind::Gap => return None,
        };
        Some(in_original(word, range, &folded))
    }

    fn words_without_spaces(self, text: &str) -> Vec<(String, Range<usize>)> {
        let mut words = Vec::new();
        let mut has_ideographs = false;
        for (kind, run) in runs(text) {
            let by_dictionary = match kind {
                Kind::Ideographic => {
                    has_ideographs = true;
                    self.profile.han == Han::Chinese
                }
                Kind::SouthEastAsian => true,
                Kind::Hangul => {
                    words
                        .extend(korean::word(text, run.clone()).map(|word| (word.to_owned(), run)));
                    continue;
                }
                Kind::Alphabetic | Kind::Gap => continue,
            };
            if by_dictionary {
                let found = ideographic::icu_words(text, run).into_iter();
                words.extend(
                    found.filter_map(|word| Some((text.get(word.clone())?.to_owned(), word))),
                );
            }
        }
        if has_ideographs && self.profile.han == Han::Japanese {
            let lemmas = ideographic::japanese_words(text).into_iter();
            words.extend(lemmas.map(|(lemma, range)| (lemma.to_owned(), range)));
        }
        words
    }
}

/// Where the katakana that `text` ends in start.
fn katakana_start(text: &str) -> Option<usize> {
    let katakana = |&(_, c): &(usize, char)| matches!(c, 'ァ'..='ヺ' | 'ー'..='ヿ');
    text.char_indices().rev().take_while(katakana).last().map(|(start, _)| start)
}

fn in_original(text: String, range: Range<usize>, folded: &Folded) -> Word {
    Word { text, range: folded.original_range(range) }
}

#[cfg(test)]
mod tests {
    use domain::Language;
    use proptest::prelude::*;

    use super::*;

    fn analyzer(han: Han) -> Analyzer {
        Analyzer::new(Profile { han, latin: Language::ENGLISH })
    }

    /// Each expected word as (stem, as written).
    #[track_caller]
    fn check(han: Han, text: &str, expected: &[(&str, &str)]) {
        let words = analyzer(han).words(text);
        let found: Vec<(&str, &str)> = words
            .iter()
            .map(|word| (word.text.as_str(), text.get(word.range.clone()).unwrap()))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn words_of_all_scripts_stand_in_order() {
        check(
            Han::Japanese,
            "ThunderbirdのパスワードをResetする",
            &[("thunderbird", "Thunderbird"), ("パスワード", "パスワード"), ("reset", "Reset")],
        );
        check(
            Han::Japanese,
            "비밀번호 Wi-Fi를",
            &[("비밀", "비밀번호"), ("wi", "Wi"), ("wifi", "Wi-Fi"), ("fi", "Fi")],
        );
    }

    #[test]
    fn width_and_case_do_not_matter_and_ranges_are_exact() {
        check(
            Han::Japanese,
            "ﾊﾟｽﾜｰﾄﾞ🔑ＲＥＳＥＴ",
            &[("パスワード", "ﾊﾟｽﾜｰﾄﾞ"), ("reset", "ＲＥＳＥＴ")],
        );
        check(Han::Japanese, "o\u{fb03}ce", &[("offic", "o\u{fb03}ce")]);
        check(Han::Japanese, "pass\u{200b}word", &[("password", "pass\u{200b}word")]);
    }

    #[test]
    fn kanji_follow_the_collection() {
        check(Han::Japanese, "申込方法", &[("申し込み", "申込"), ("方法", "方法")]);
        check(Han::Chinese, "更改密码", &[("更改", "更改"), ("密码", "密码")]);
    }

    #[test]
    fn thai_is_cut_by_its_dictionary() {
        let words = analyzer(Han::Chinese).words("รีเซ็ตรหัสผ่าน");
        assert!(2 <= words.len(), "{words:?}");
    }

    #[track_caller]
    fn check_unfinished(text: &str, expected: Option<(&str, &str)>) {
        let word = analyzer(Han::Japanese).unfinished_word(text);
        let found =
            word.as_ref().map(|word| (word.text.as_str(), text.get(word.range.clone()).unwrap()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn an_unfinished_word_is_what_was_typed_last() {
        check_unfinished("reset passw", Some(("passw", "passw")));
        check_unfinished("the", Some(("the", "the")));
        check_unfinished("ＲＥＳＥＴ Ｃafé", Some(("cafe", "Ｃafé")));
        check_unfinished("新しいﾊﾟｽﾜ", Some(("パスワ", "ﾊﾟｽﾜ")));
        check_unfinished("비밀번", Some(("비밀", "비밀번")));
        check_unfinished("暗証番", None);
        check_unfinished("reset ", None);
        check_unfinished("", None);
    }

    fn check_ranges(words: &[Word], text: &str) -> Result<(), TestCaseError> {
        let mut last = 0;
        for word in words {
            prop_assert!(!word.text.is_empty());
            prop_assert!(text.get(word.range.clone()).is_some_and(|written| !written.is_empty()));
            prop_assert!(last <= word.range.start);
            last = word.range.start;
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn words_of_any_text_are_in_order_and_on_boundaries(
            text in prop_oneof![any::<String>(), "[a-zＡ-Ｚéﾊﾟ㍿ﬃ😀한글漢字ひらカ'’.@_#+ -]{0,60}"],
            han in prop_oneof![Just(Han::Japanese), Just(Han::Chinese)],
        ) {
            let analyzer = analyzer(han);
            check_ranges(&analyzer.words(&text), &text)?;
            check_ranges(&analyzer.bigrams(&text), &text)?;
            let last = analyzer.unfinished_word(&text);
            prop_assert!(last.is_none_or(|word| text.get(word.range).is_some()));
        }

        #[test]
        fn case_and_width_never_change_the_words(text in "[a-z0-9パスワード申込 .-]{0,40}") {
            let analyzer = analyzer(Han::Japanese);
            let wide: String = text
                .chars()
                .map(|c| if c.is_ascii_graphic() { char::from_u32(c as u32 + 0xfee0).unwrap() } else { c })
                .collect();
            let texts = |text: &str| analyzer.words(text).into_iter().map(|word| word.text).collect::<Vec<_>>();
            prop_assert_eq!(texts(&text), texts(&wide));
            prop_assert_eq!(texts(&text), texts(&text.to_uppercase()));
        }
    }
}
