//! [`question`]: the entry to the pipeline, and what it refuses.

use domain::{Language, Question};
use thiserror::Error;

use crate::fold::folded;
use crate::language::language;
use crate::script::{Letters, is_word_character};

/// Bytes of raw text per character allowed after normalisation, above which a text is refused unread. Room for
/// eight combining marks or zero-width characters of four bytes on every letter.
const RAW_BYTES_PER_CHARACTER: usize = 32;

/// What a question may be at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Characters after normalisation.
    pub longest: usize,
}

impl Limits {
    /// Room for a pasted error report (the longest of 500 real support questions has 3,500 characters, all
    /// but a handful under 1,000), and what a search can still make sense of.
    pub const STANDARD: Self = Self { longest: 2_000 };
}

/// Text that is no question. The messages are for the person who typed it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum QuestionError {
    /// Nothing visible.
    #[error("the question is empty; type what you want to know")]
    Empty,
    /// Punctuation, symbols or emoji only.
    #[error("the question has no words in it; describe what you want to know in a few words")]
    NoWords,
    /// More than [`Limits::longest`]. `found` counts characters after normalisation, or, in a text so long
    /// that it was refused without, characters as typed.
    #[error("the question is {found} characters long; shorten it to {longest} or fewer")]
    TooLong { longest: usize, found: usize },
}

/// Reads what a user typed. `lang` is the caller's word on its language and wins over what the text looks like.
///
/// The work is bounded by the limit, not by the length of `raw`.
///
/// # Errors
///
/// [`QuestionError`] says what is wrong, in words for the user.
pub fn question(
    raw: &str,
    lang: Option<Language>,
    limits: Limits,
) -> Result<Question, QuestionError> {
    let longest = limits.longest;
    if raw.len() > longest.saturating_mul(RAW_BYTES_PER_CHARACTER) {
        return Err(QuestionError::TooLong { longest, found: raw.chars().count() });
    }
    let mut rest = folded(raw);
    let text: String = rest.by_ref().take(longest).collect();
    let over = rest.count();
    if over > 0 {
        return Err(QuestionError::TooLong { longest, found: longest + over });
    }
    if text.is_empty() {
        return Err(QuestionError::Empty);
    }
    if !text.chars().any(is_word_character) {
        return Err(QuestionError::NoWords);
    }
    let letters = Letters::of(&text);
    let lang = lang.unwrap_or_else(|| language(&text, &letters));
    Ok(Question::from_normalized(text, lang, letters.script()))
}

#[cfg(test)]
mod tests {
    use domain::Script;
    use proptest::prelude::*;

    use super::*;

    fn read(raw: &str) -> Result<Question, QuestionError> {
        question(raw, None, Limits::STANDARD)
    }

    #[track_caller]
    fn check(raw: &str, expected: Result<(&str, &str, Script), QuestionError>) {
        let found = read(raw);
        let found = found.as_ref().map(|q| (q.text(), q.lang().as_str().to_owned(), q.script()));
        let expected =
            expected.as_ref().map(|&(text, lang, script)| (text, lang.to_owned(), script));
        assert_eq!(found, expected, "{raw:?}");
    }

    #[test]
    fn a_question_is_clean_and_knows_its_language_and_script() {
        check("  How do I\ncancel? ", Ok(("How do I cancel?", "en", Script::Latin)));
        check("ﾊﾟｽﾜｰﾄﾞを　忘れた", Ok(("パスワードを 忘れた", "ja", Script::Japanese)));
        check("1042", Ok(("1042", "en", Script::Other)));
    }

    #[test]
    fn what_has_no_words_is_refused() {
        check("", Err(QuestionError::Empty));
        check(" \u{200b}\n\u{3000}\u{feff}", Err(QuestionError::Empty));
        for raw in [".....", "？！", "😄💔", "¿?", "+ - *", "\u{301}", "👨\u{200d}👩\u{200d}👧"]
        {
            check(raw, Err(QuestionError::NoWords));
        }
    }

    #[test]
    fn the_limit_counts_characters_after_normalisation() {
        let limits = Limits { longest: 3 };
        assert_eq!(
            question("か\u{3099}き\u{3099} \u{200b} く ", None, limits).map(|q| q.text().len()),
            Err(QuestionError::TooLong { longest: 3, found: 4 })
        );
        assert_eq!(
            question("か\u{3099}か\u{3099}か\u{3099}", None, limits).unwrap().text(),
            "ががが"
        );
        check(&"あ".repeat(2000), Ok((&"あ".repeat(2000), "ja", Script::Japanese)));
        check(&"あ".repeat(2001), Err(QuestionError::TooLong { longest: 2000, found: 2001 }));
        // A compatibility character that becomes eighteen.
        check(
            &"\u{fdfa}".repeat(2000),
            Err(QuestionError::TooLong { longest: 2000, found: 36_000 }),
        );
    }

    #[test]
    fn a_text_far_over_the_limit_is_refused_whatever_is_in_it() {
        let length = 10_000_000;
        for raw in ["a".repeat(length), "\u{301}".repeat(length / 2), " ".repeat(length)] {
            let found = raw.chars().count();
            check(&raw, Err(QuestionError::TooLong { longest: 2000, found }));
        }
    }

    #[test]
    fn the_callers_language_wins() {
        let german = "de".parse().unwrap();
        let asked = question("cancel plan", Some(german), Limits::STANDARD).unwrap();
        assert_eq!(asked.lang(), german);
        let asked = question("解約", Some(Language::JAPANESE), Limits::STANDARD).unwrap();
        assert_eq!((asked.lang(), asked.script()), (Language::JAPANESE, Script::Han));
    }

    #[test]
    fn errors_tell_the_user_what_to_do() {
        assert_eq!(
            QuestionError::TooLong { longest: 2000, found: 2001 }.to_string(),
            "the question is 2001 characters long; shorten it to 2000 or fewer"
        );
    }

    proptest! {
        #[test]
        fn a_question_read_again_is_the_same_question(raw in any::<String>()) {
            if let Ok(once) = read(&raw) {
                prop_assert_eq!(read(once.text()), Ok(once));
            }
        }
    }
}
