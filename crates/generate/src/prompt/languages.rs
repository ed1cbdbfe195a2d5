//! What languages are called in English, and how the length of a text in them is counted.

use domain::Language;

/// How people count the length of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// Words, of which an output of ten tokens holds this many.
    Words(u32),
    /// Characters, where words are not set apart; of which ten tokens hold this many.
    Characters(u32),
}

use Measure::{Characters, Words};

/// Languages that help centers are written in. Ten tokens hold some seven English words, six of another language
/// in Latin letters, four to five of other ones, ten Japanese or Chinese characters and twenty Thai ones; some
/// are taken off for citations and list marks.
const LANGUAGES: [(&str, &str, Measure); 33] = [
    ("ar", "Arabic", Words(4)),
    ("bn", "Bengali", Words(3)),
    ("cs", "Czech", Words(4)),
    ("da", "Danish", Words(5)),
    ("de", "German", Words(5)),
    ("el", "Greek", Words(3)),
    ("en", "English", Words(6)),
    ("es", "Spanish", Words(5)),
    ("fa", "Persian", Words(4)),
    ("fi", "Finnish", Words(4)),
    ("fil", "Filipino", Words(5)),
    ("fr", "French", Words(5)),
    ("he", "Hebrew", Words(4)),
    ("hi", "Hindi", Words(4)),
    ("hu", "Hungarian", Words(4)),
    ("id", "Indonesian", Words(5)),
    ("it", "Italian", Words(5)),
    ("ja", "Japanese", Characters(8)),
    ("km", "Khmer", Characters(8)),
    ("ko", "Korean", Words(3)),
    ("lo", "Lao", Characters(8)),
    ("ms", "Malay", Words(5)),
    ("my", "Burmese", Characters(8)),
    ("nl", "Dutch", Words(5)),
    ("no", "Norwegian", Words(5)),
    ("pl", "Polish", Words(4)),
    ("pt", "Portuguese", Words(5)),
    ("ru", "Russian", Words(4)),
    ("sv", "Swedish", Words(5)),
    ("th", "Thai", Characters(18)),
    ("tr", "Turkish", Words(4)),
    ("uk", "Ukrainian", Words(4)),
    ("vi", "Vietnamese", Words(5)),
];

/// Chinese is left out above because its tag stands for two ways of writing.
const CHINESE: (&str, Measure) =
    ("Chinese, in the characters the question is written in", Characters(8));

/// What `lang` is called within an English sentence.
pub(super) fn english_name(lang: Language) -> String {
    find(lang)
        .map_or_else(|| format!("the language with the tag {lang}"), |(name, _)| name.to_owned())
}

/// How the length of a text in `lang` is counted; with caution where it is not known.
pub(super) fn measure(lang: Language) -> Measure {
    find(lang).map_or(Words(3), |(_, measure)| measure)
}

fn find(lang: Language) -> Option<(&'static str, Measure)> {
    if lang == Language::CHINESE {
        return Some(CHINESE);
    }
    let known = LANGUAGES.iter().find(|(tag, ..)| *tag == lang.as_str());
    known.map(|&(_, name, measure)| (name, measure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_is_one_and_stands_once() {
        for window in LANGUAGES.windows(2) {
            assert!(window[0].0 < window[1].0, "{window:?}");
        }
        for (tag, ..) in LANGUAGES {
            assert_eq!(tag.parse::<Language>().unwrap().as_str(), tag);
        }
    }

    #[test]
    fn an_unknown_language_is_named_by_its_tag() {
        assert_eq!(english_name("eo".parse().unwrap()), "the language with the tag eo");
        assert_eq!(english_name("fr".parse().unwrap()), "French");
    }
}
