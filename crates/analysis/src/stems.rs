//! Stems of alphabetic words, with accents folded.

use domain::Language;
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

use crate::stop_words;

/// Stems words of alphabets. The stemmer follows the script where that names one language well enough,
/// else the collection's Latin-script language.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stems {
    latin: Language,
}

/// Whether `language` is written in Latin letters and has a stemmer.
pub(crate) fn has_latin_stemmer(language: Language) -> bool {
    latin_algorithm(language).is_some()
}

fn latin_algorithm(language: Language) -> Option<Algorithm> {
    Some(match language.as_str() {
        "da" => Algorithm::Danish,
        "de" => Algorithm::German,
        "en" => Algorithm::English,
        "es" => Algorithm::Spanish,
        "fi" => Algorithm::Finnish,
        "fr" => Algorithm::French,
        "hu" => Algorithm::Hungarian,
        "it" => Algorithm::Italian,
        "nb" | "nn" | "no" => Algorithm::Norwegian,
        "nl" => Algorithm::Dutch,
        "pt" => Algorithm::Portuguese,
        "ro" => Algorithm::Romanian,
        "sv" => Algorithm::Swedish,
        "tr" => Algorithm::Turkish,
        _ => return None,
    })
}

impl Stems {
    pub(crate) fn new(latin: Language) -> Self {
        Self { latin }
    }

    /// Whether `l'` and its like are words of their own that run into the next one.
    pub(crate) fn elides(self) -> bool {
        matches!(self.latin.as_str(), "fr" | "it" | "ca")
    }

    /// The stem of a folded word; `None` for a stop word.
    pub(crate) fn stem(self, word: &str) -> Option<String> {
        if self.latin == Language::ENGLISH {
            // English writes the accents of its loan words as it likes, and its stemmer knows none.
            let plain = without_accents(word);
            return (!stop_words::is_english(&plain)).then(|| self.by_script(&plain));
        }
        Some(without_accents(&self.by_script(word)))
    }

    fn by_script(self, word: &str) -> String {
        let algorithm = match word.chars().next() {
            Some('\u{370}'..='\u{3ff}') => Some(Algorithm::Greek),
            Some('\u{400}'..='\u{4ff}') => Some(Algorithm::Russian),
            Some('\u{600}'..='\u{6ff}') => Some(Algorithm::Arabic),
            Some('\u{b80}'..='\u{bff}') => Some(Algorithm::Tamil),
            _ => latin_algorithm(self.latin),
        };
        // Codes and version numbers are names, not words.
        let is_word = word.chars().all(|c| !c.is_numeric());
        match algorithm {
            Some(algorithm) if is_word => Stemmer::create(algorithm).stem(word).into_owned(),
            _ => word.to_owned(),
        }
    }
}

/// `word` without the accents of Latin, Greek and Cyrillic letters: many people do not type them.
pub(crate) fn without_accents(word: &str) -> String {
    if word.is_ascii() {
        return word.to_owned();
    }
    let mut plain = String::with_capacity(word.len());
    for c in word.nfd().filter(|c| !matches!(c, '\u{300}'..='\u{36f}')) {
        match c {
            'ß' => plain.push_str("ss"),
            'æ' => plain.push_str("ae"),
            'œ' => plain.push_str("oe"),
            'ø' => plain.push('o'),
            'ł' => plain.push('l'),
            'đ' | 'ð' => plain.push('d'),
            'ı' => plain.push('i'),
            'ς' => plain.push('σ'),
            other => plain.push(other),
        }
    }
    plain.nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(latin: &str, words: &[&str], stem: Option<&str>) {
        let stems = Stems::new(latin.parse().unwrap());
        for word in words {
            assert_eq!(stems.stem(word).as_deref(), stem, "{word}");
        }
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        check("en", &["reset", "resets", "resetting"], Some("reset"));
        check("de", &["einstellung", "einstellungen"], Some("einstell"));
        check("en", &["пароль", "пароля", "паролю"], Some("парол"));
    }

    #[test]
    fn accents_do_not_matter() {
        check("en", &["café", "cafe", "cafés"], Some("cafe"));
        check("fr", &["café", "cafés"], Some("caf"));
        check("de", &["größe"], Some("gross"));
    }

    #[test]
    fn stop_words_are_english_only() {
        check("en", &["the", "dont", "please"], None);
        check("de", &["die"], Some("die"));
    }

    #[test]
    fn codes_are_left_alone() {
        check("en", &["0x8007s"], Some("0x8007s"));
    }
}
