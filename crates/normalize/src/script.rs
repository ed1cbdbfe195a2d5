//! Which script a text is in.

use domain::Script;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script as Property};

/// A Han character or Hangul syllable says about as much as this many letters of an alphabet, so that
/// `Gmail 設定` counts as Han.
const LETTERS_PER_IDEOGRAPH: usize = 3;

/// How many letters of each script a text has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Letters {
    pub latin: usize,
    pub hiragana: usize,
    pub katakana: usize,
    pub han: usize,
    pub hangul: usize,
    pub other: usize,
}

impl Letters {
    /// Counts the letters of `text`.
    pub(crate) fn of(text: &str) -> Self {
        let scripts = CodePointMapData::<Property>::new();
        let mut letters = Self::default();
        for c in text.chars().filter(|&c| is_in(c, GeneralCategoryGroup::Letter)) {
            match scripts.get(c) {
                Property::Latin => letters.latin += 1,
                Property::Hiragana => letters.hiragana += 1,
                Property::Katakana => letters.katakana += 1,
                Property::Han => letters.han += 1,
                Property::Hangul => letters.hangul += 1,
                // Letters that several scripts share, such as the long-vowel mark, tell nothing.
                Property::Common | Property::Inherited => {}
                _ => letters.other += 1,
            }
        }
        letters
    }

    /// Whether the text is Japanese beyond doubt. One katakana letter is not enough beside other letters: people
    /// write `¯\_(ツ)_/¯` in any language.
    pub(crate) fn show_japanese(&self) -> bool {
        let elsewhere = self.latin + self.hangul + self.other;
        self.hiragana > 0 || self.katakana > 1 || (self.katakana == 1 && elsewhere == 0)
    }

    /// The script with most letters.
    pub(crate) fn script(&self) -> Script {
        let kana = self.hiragana + self.katakana;
        let (japanese, han) = if self.show_japanese() {
            (kana + self.han * LETTERS_PER_IDEOGRAPH, 0)
        } else {
            (0, self.han * LETTERS_PER_IDEOGRAPH)
        };
        [
            (Script::Latin, self.latin),
            (Script::Japanese, japanese),
            (Script::Han, han),
            (Script::Hangul, self.hangul * LETTERS_PER_IDEOGRAPH),
            (Script::Other, self.other),
        ]
        .into_iter()
        .filter(|&(_, letters)| letters > 0)
        .max_by_key(|&(_, letters)| letters)
        .map_or(Script::Other, |(script, _)| script)
    }
}

/// Whether `c` is a letter or a digit: something that can make up a word.
pub(crate) fn is_word_character(c: char) -> bool {
    is_in(c, GeneralCategoryGroup::Letter) || is_in(c, GeneralCategoryGroup::Number)
}

fn is_in(c: char, group: GeneralCategoryGroup) -> bool {
    group.contains(CodePointMapData::<GeneralCategory>::new().get(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Script) {
        assert_eq!(Letters::of(text).script(), expected, "{text:?}");
    }

    #[test]
    fn the_script_is_the_one_with_most_letters() {
        check("cancel plan", Script::Latin);
        check("解約したい", Script::Japanese);
        check("パスワード", Script::Japanese);
        check("取消订阅", Script::Han);
        check("Gmail 設定", Script::Han);
        check("비밀번호 재설정", Script::Hangul);
        check("Не отправляются письма", Script::Other);
        check("SMTP server の password error", Script::Latin);
        check("SMTP エラーが出る", Script::Japanese);
    }

    #[test]
    fn text_without_letters_is_other() {
        check("1042", Script::Other);
        check("", Script::Other);
        check("ー", Script::Other);
    }

    #[test]
    fn a_lone_katakana_letter_among_others_is_a_shrug() {
        assert!(!Letters::of(r"no idea ¯\_(ツ)_/¯").show_japanese());
        assert!(Letters::of("PDFの設定").show_japanese());
        assert!(Letters::of("ア").show_japanese());
    }

    #[test]
    fn symbols_and_marks_make_no_words() {
        assert!("aZ9あ漢가Ж٣".chars().all(is_word_character));
        assert!(!"?!。…😄🅰€+\u{301}".chars().any(is_word_character));
    }
}
