//! How long an answer is asked for.

use domain::Language;

use super::languages::{Measure, measure};

/// Nobody can answer in less; a cap that cuts even this is not worth a call.
const FEWEST_WORDS: u32 = 20;
const FEWEST_CHARACTERS: u32 = 40;

/// The sentence that asks for an answer of `tokens` at most, in the language of the rules.
pub(super) fn hint(lang: Language, tokens: u32) -> String {
    let count = count(measure(lang), tokens);
    match (lang, measure(lang)) {
        (Language::JAPANESE, _) => format!("{count}文字以内で答えてください。"),
        (_, Measure::Words(_)) => format!("Answer in at most {count} words."),
        // A character of such a text is more than a letter of ours, and this says so.
        (Language::CHINESE, _) => format!("Answer in at most {count} 字."),
        (_, Measure::Characters(_)) => format!("Answer in at most {count} characters."),
    }
}

fn count(measure: Measure, tokens: u32) -> u32 {
    let (in_ten, fewest) = match measure {
        Measure::Words(in_ten) => (in_ten, FEWEST_WORDS),
        Measure::Characters(in_ten) => (in_ten, FEWEST_CHARACTERS),
    };
    (tokens / 10).saturating_mul(in_ten).max(fewest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_asked_for_in_what_the_language_counts_in() {
        let hint_in = |lang: &str, tokens| hint(lang.parse().unwrap(), tokens);
        assert_eq!(hint_in("en", 200), "Answer in at most 120 words.");
        assert_eq!(hint_in("ru", 200), "Answer in at most 80 words.");
        assert_eq!(hint_in("ja", 200), "160文字以内で答えてください。");
        assert_eq!(hint_in("th", 200), "Answer in at most 360 characters.");
        assert_eq!(hint_in("zh", 200), "Answer in at most 160 字.");
        assert_eq!(hint_in("eo", 200), "Answer in at most 60 words.");
        assert_eq!(hint_in("en", 0), "Answer in at most 20 words.");
        assert_eq!(hint_in("en", u32::MAX), "Answer in at most 2576980374 words.");
    }
}
