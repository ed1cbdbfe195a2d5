//! The language of a page: what its path says, or what its text looks like.

use domain::Language;
use whatlang::{Detector, Lang};

/// Languages recognised as folder names and in texts. Not every code of ISO 639: `io`, `os` or `is` are more often
/// something else.
const LANGUAGES: &[(Lang, &str)] = &[
    (Lang::Ara, "ar"),
    (Lang::Ben, "bn"),
    (Lang::Bul, "bg"),
    (Lang::Cat, "ca"),
    (Lang::Ces, "cs"),
    (Lang::Cmn, "zh"),
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
    (Lang::Jpn, "ja"),
    (Lang::Kor, "ko"),
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

/// So much of a text is looked at: enough for statistics, and bounded for a page of megabytes.
const SAMPLE: usize = 4_000;

/// A text is Japanese where one letter in this many is kana; quoted names in a foreign page are fewer.
const LETTERS_PER_KANA: usize = 10;

/// An ASCII text with fewer letters is not taken for anything but English.
const LETTERS_TO_TELL: usize = 800;

/// An English text has fewer letters outside ASCII than one in this many. A page of a translation that is mostly code
/// looks English but for them.
const LETTERS_PER_FOREIGN: usize = 50;

/// Languages whose short texts are taken for each other: by their characters, or by nearly all their words.
const ALIKE: [(&str, &str); 3] = [("ja", "zh"), ("da", "nb"), ("cs", "sk")];

/// The language of a page without a word of its own on that: what its path says, unless its text is plainly in another
/// (`it/` and `hr/` are departments as well); else what its text looks like.
pub(crate) fn of_page(path: &str, text: &str) -> Option<Language> {
    match (of_path(path), of_text(text)) {
        (Some(said), Some(seen)) if contradicts(said, seen, text) => Some(seen),
        (said, seen) => said.or(seen),
    }
}

/// Whether a text that looks like `seen` cannot be in `said`.
fn contradicts(said: Language, seen: Language, text: &str) -> bool {
    let pair = (said.as_str(), seen.as_str());
    let alike = ALIKE.iter().any(|&(one, other)| pair == (one, other) || pair == (other, one));
    said != seen && !alike && (seen != Language::ENGLISH || is_plain(text))
}

/// Whether next to all letters are ASCII.
fn is_plain(text: &str) -> bool {
    let letters = || text.chars().filter(|c| c.is_alphabetic());
    letters().filter(|c| !c.is_ascii()).count() * LETTERS_PER_FOREIGN < letters().count()
}

/// The language named by a folder of `path` (`ja/`, `docs/pt-BR/`) or before the extension (`page.ja.md`).
fn of_path(path: &str) -> Option<Language> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let before_extension = name.rsplit('.').nth(1).filter(|_| name.matches('.').count() > 1);
    folders.split('/').chain(before_extension).find_map(named)
}

/// A known language in lower case, with at most a region or script after it. `IT` and `HR` are departments.
fn named(tag: &str) -> Option<Language> {
    let (primary, rest) = tag.split_once(['-', '_']).map_or((tag, None), |(a, b)| (a, Some(b)));
    let known = LANGUAGES.iter().any(|&(_, code)| code == primary);
    if known && rest.is_none_or(|rest| is_region(rest) || is_script(rest)) {
        primary.parse().ok()
    } else {
        None
    }
}

/// `BR` or `br`.
fn is_region(subtag: &str) -> bool {
    let bytes = subtag.as_bytes();
    bytes.len() == 2
        && (bytes.iter().all(u8::is_ascii_uppercase) || bytes.iter().all(u8::is_ascii_lowercase))
}

/// The scripts that translations are told apart by. Not any four letters: `it-help` is no Italian.
fn is_script(subtag: &str) -> bool {
    ["Hans", "Hant", "Latn", "Cyrl"].iter().any(|script| script.eq_ignore_ascii_case(subtag))
}

/// The language of running text, where it can be told.
fn of_text(text: &str) -> Option<Language> {
    let sample: String = text.chars().take(SAMPLE).collect();
    let letters = sample.chars().filter(|c| c.is_alphabetic()).count();
    let kana = sample.chars().filter(|&c| matches!(c, 'ぁ'..='ゖ' | 'ァ'..='ヺ')).count();
    if kana > 0 && kana >= letters / LETTERS_PER_KANA {
        return Some(Language::JAPANESE);
    }
    let detector = Detector::with_allowlist(LANGUAGES.iter().map(|&(lang, _)| lang).collect());
    let guess = detector.detect(&sample).filter(whatlang::Info::is_reliable)?;
    // Statistics take a short list of English terms for Danish; Danish of that length has its own letters.
    if sample.is_ascii() && letters < LETTERS_TO_TELL && guess.lang() != Lang::Eng {
        return None;
    }
    let &(_, code) = LANGUAGES.iter().find(|&&(lang, _)| lang == guess.lang())?;
    code.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn path(path: &str, expected: Option<&str>) {
        assert_eq!(of_path(path).as_ref().map(Language::as_str), expected, "{path:?}");
    }

    #[track_caller]
    fn page(path: &str, text: &str, expected: Option<&str>) {
        let language = of_page(path, text);
        assert_eq!(language.as_ref().map(Language::as_str), expected, "{path:?} {text:?}");
    }

    #[track_caller]
    fn text(text: &str, expected: Option<&str>) {
        assert_eq!(of_text(text).as_ref().map(Language::as_str), expected, "{text:?}");
    }

    #[test]
    fn a_folder_or_a_name_can_say_the_language() {
        path("ja/page.md", Some("ja"));
        path("docs/pt-BR/page.md", Some("pt"));
        path("docs/zh_Hans/page.md", Some("zh"));
        path("page.ja.md", Some("ja"));
        path("page.md", None);
        path("ja.md", None);
        path("os/io/page.md", None);
        path("en-terprise/page.md", None);
        path("docs/pt-br/page.md", Some("pt"));
        path("docs/pt_BR/page.md", Some("pt"));
    }

    #[test]
    fn departments_are_not_languages() {
        for folder in ["IT", "HR", "ID", "Hr", "it-help", "id-card", "IT-US"] {
            path(&format!("{folder}/page.md"), None);
        }
        path("page.IT.md", None);
    }

    #[test]
    fn a_path_holds_where_the_text_does_not_contradict_it() {
        const ENGLISH: &str =
            "Open the settings of your account and choose a new password for the next sign in.";
        for folder in ["it", "hr", "id", "it-IT", "ja"] {
            page(&format!("{folder}/page.md"), ENGLISH, Some("en"));
        }
        page("it/page.md", "Reset", Some("it"));
        page("it/page.md", "", Some("it"));
        page("it/page.md", "Apri le impostazioni e scegli una nuova password.", Some("it"));
        page("IT/page.md", "", None);
        page("IT/page.md", ENGLISH, Some("en"));
        page("en/page.md", "パスワードを変更する", Some("ja"));
        // Without kana, Japanese is taken for Chinese.
        page("ja/page.md", "請求書設定", Some("ja"));
        page("ja/page.md", &format!("設定を開きます。 {ENGLISH}{ENGLISH}"), Some("ja"));
    }

    #[test]
    fn text_says_the_rest() {
        text("パスワードを変更する", Some("ja"));
        text("비밀번호를 변경하려면 설정을 여세요", Some("ko"));
        text("请打开设置并更改密码", Some("zh"));
        text(
            "Open the settings of your account and choose a new password for the next time you sign in.",
            Some("en"),
        );
        text(
            "Öffnen Sie die Einstellungen Ihres Kontos und wählen Sie ein neues Passwort für die Anmeldung.",
            Some("de"),
        );
        text(
            "Archive billing invoice device password workspace folder button sync member filter export",
            None,
        );
        text("", None);
        text("1234", None);
    }
}
