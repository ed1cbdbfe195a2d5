//! Which language a text is in, with rules for texts too short for statistics.

use domain::{Language, Script};
use whatlang::{Detector, Lang};

use crate::script::Letters;

/// The languages that are told apart, with their tags. A longer list would cost short questions: each
/// further language is one more to be mistaken for (with Bulgarian in it, every eighth Russian one was).
const LANGUAGES: &[(Lang, &str)] = &[
    (Lang::Ara, "ar"),
    (Lang::Ben, "bn"),
    (Lang::Cat, "ca"),
    (Lang::Ces, "cs"),
    (Lang::Dan, "da"),
    (Lang::Deu, "de"),
    (Lang::Ell, "el"),
    (Lang::Eng, "en"),
    (Lang::Fin, "fi"),
    (Lang::Fra, "fr"),
    (Lang::Heb, "he"),
    (Lang::Hin, "hi"),
    (Lang::Hrv, "hr"),
    (Lang::Hun, "hu"),
    (Lang::Ind, "id"),
    (Lang::Ita, "it"),
    (Lang::Kat, "ka"),
    (Lang::Nld, "nl"),
    (Lang::Nob, "nb"),
    (Lang::Pes, "fa"),
    (Lang::Pol, "pl"),
    (Lang::Por, "pt"),
    (Lang::Ron, "ro"),
    (Lang::Rus, "ru"),
    (Lang::Slk, "sk"),
    (Lang::Spa, "es"),
    (Lang::Swe, "sv"),
    (Lang::Tam, "ta"),
    (Lang::Tha, "th"),
    (Lang::Tur, "tr"),
    (Lang::Ukr, "uk"),
    (Lang::Urd, "ur"),
    (Lang::Vie, "vi"),
];

/// The language of `text`, whose letters are `letters`.
///
/// Kana are Japanese, Hangul is Korean, Han characters alone are Chinese (the collection's analyser may
/// read them otherwise). All else goes by statistics, which are often wrong on a few words: text that
/// could be English, having no letters beyond a–z, is English unless they are sure.
pub(crate) fn language(text: &str, letters: &Letters) -> Language {
    if letters.show_japanese() {
        return Language::JAPANESE;
    }
    match letters.script() {
        Script::Japanese => Language::JAPANESE,
        Script::Han => Language::CHINESE,
        Script::Hangul => Language::KOREAN,
        Script::Latin | Script::Other => statistical(text),
    }
}

fn statistical(text: &str) -> Language {
    let detector = Detector::with_allowlist(LANGUAGES.iter().map(|&(lang, _)| lang).collect());
    detector
        .detect(text)
        .filter(|guess| guess.is_reliable() || !could_be_english(text))
        .and_then(|guess| LANGUAGES.iter().find(|&&(lang, _)| lang == guess.lang()))
        .and_then(|&(_, tag)| tag.parse().ok())
        .unwrap_or(Language::ENGLISH)
}

fn could_be_english(text: &str) -> bool {
    text.chars().filter(|c| c.is_alphabetic()).all(|c| c.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(language(text, &Letters::of(text)).as_str(), expected, "{text:?}");
    }

    #[test]
    fn every_tag_is_a_language() {
        for (_, tag) in LANGUAGES {
            assert_eq!(tag.parse::<Language>().unwrap().as_str(), *tag);
        }
    }

    #[test]
    fn scripts_of_one_language_decide_alone() {
        check("解約", "zh");
        check("解約したい", "ja");
        check("iPhone 15 で同期できない", "ja");
        check("비밀번호", "ko");
        check("Keyword エラー", "ja");
    }

    #[test]
    fn short_latin_questions_are_english() {
        for text in
            ["cancel plan", "reset password", "Keyword", "TG-1042", "1042", "mail", "no sound"]
        {
            check(text, "en");
        }
    }

    #[test]
    fn questions_of_some_length_are_told_apart() {
        check("Comment puis-je réinitialiser mon mot de passe oublié ?", "fr");
        check("Wie kann ich mein vergessenes Passwort zurücksetzen?", "de");
        check("¿Cómo puedo restablecer mi contraseña si la he olvidado?", "es");
        check("mot de passe oublié", "fr");
        check("Не отправляются письма", "ru");
        check("パスワードを忘れた", "ja");
    }
}
