//! [`Profile`]: what a collection's language decides about how its words are read.

use std::collections::BTreeMap;

use domain::Language;
use serde::{Deserialize, Serialize};

use crate::runs::is_kana;
use crate::stems;

/// How a collection's text is cut into words; stored with its index, used for questions too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Profile {
    /// How runs of Han characters are read.
    pub han: Han,
    /// The language whose stemmer and stop words are used for Latin runs.
    pub latin: Language,
}

/// How runs of Han characters are read: the collection decides, not the question, because a Japanese
/// question without kana looks Chinese.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Han {
    Japanese,
    Chinese,
}

/// A collection counts as Japanese when at least one in this many of its ideographs and kana is kana.
/// Japanese prose has about one in two; Chinese help pages may quote a Japanese name.
const LEAST_KANA_SHARE: usize = 50;

impl Profile {
    /// The profile that suits a collection: Japanese where it contains kana (beyond stray quotations),
    /// else Chinese; the most frequent Latin-script language that has a stemmer, English without any.
    pub fn of_collection<'a>(texts: impl IntoIterator<Item = (&'a str, Language)>) -> Self {
        let (mut kana, mut han) = (0_usize, 0_usize);
        let mut bytes_by_language = BTreeMap::<Language, usize>::new();
        for (text, language) in texts {
            if stems::has_latin_stemmer(language) {
                *bytes_by_language.entry(language).or_default() += text.len();
            }
            kana += text.chars().filter(|c| is_kana(*c)).count();
            han += text.chars().filter(|c| crate::runs::is_han(*c)).count();
        }
        let japanese = 0 < kana && han + kana <= kana.saturating_mul(LEAST_KANA_SHARE);
        let most = bytes_by_language.into_iter().max_by_key(|(_, bytes)| *bytes);
        Self {
            han: if japanese { Han::Japanese } else { Han::Chinese },
            latin: most.map_or(Language::ENGLISH, |(language, _)| language),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(texts: &[(&str, &str)], han: Han, latin: &str) {
        let texts = texts.iter().map(|(text, language)| (*text, language.parse().unwrap()));
        let expected = Profile { han, latin: latin.parse().unwrap() };
        assert_eq!(Profile::of_collection(texts), expected);
    }

    #[test]
    fn kana_make_a_collection_japanese() {
        check(&[("パスワードの再発行", "ja"), ("料金一覧", "ja")], Han::Japanese, "en");
        check(&[("重置密码", "zh")], Han::Chinese, "en");
        check(&[], Han::Chinese, "en");
    }

    #[test]
    fn a_japanese_name_does_not_make_a_chinese_collection_japanese() {
        let chinese = "如何重置密码并重新登录您的账户".repeat(20);
        check(&[(&chinese, "zh"), ("任天堂ニン", "zh")], Han::Chinese, "en");
    }

    #[test]
    fn the_most_frequent_latin_language_with_a_stemmer_is_taken() {
        check(&[("Passwort zurücksetzen und anmelden", "de"), ("Reset", "en")], Han::Chinese, "de");
        check(&[("xin chào các bạn thân mến", "vi"), ("Reset", "en")], Han::Chinese, "en");
        check(&[("Сброс пароля и вход в систему", "ru"), ("Reset", "en")], Han::Chinese, "en");
    }
}
