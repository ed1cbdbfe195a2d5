//! Where sentences end within a paragraph.
//!
//! Takes its classes of characters from UAX #29 and its own decisions from help pages: file names,
//! versions and addresses hold full stops, product names start in lower case, Japanese quotes hold
//! whole sentences, and citation marks belong to the sentence before them.

use std::ops::Range;

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, Script, SentenceBreak};

use crate::block::trimmed;
use crate::{marks, part};

/// Words with a full stop that something always follows.
const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "cf", "vs", "mr", "mrs", "ms", "dr", "prof", "no", "nr", "fig", "approx", "incl",
    "ver", "vol", "u.s", "u.k", "z.b", "bzw", "p.ej",
];

/// A pair of brackets wider than this in bytes does not hold its sentences together.
const WIDEST_BRACKETS: usize = 600;

/// What a Japanese sentence goes on with after a closing bracket: `「…。」と表示されます`.
const PARTICLES: &[char] =
    &['と', 'っ', 'の', 'が', 'を', 'は', 'に', 'で', 'も', 'や', 'へ', 'な', '、', '，'];

/// The sentences of one paragraph, in order, without the white space between them.
pub(crate) fn split(prose: &str) -> Vec<Range<usize>> {
    let brackets = brackets(prose);
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, c) in prose.char_indices() {
        if at < start || !is_terminator(c) {
            continue;
        }
        let Some(end) = end_of_sentence(prose, start, at) else { continue };
        if brackets.iter().any(|pair| pair.start < end && end < pair.end) {
            continue;
        }
        sentences.push(trimmed(prose, start..end));
        start = end;
    }
    sentences.push(trimmed(prose, start..prose.len()));
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// Whether `sentence` ends like one: on a terminator, with at most closing brackets and marks behind.
pub(crate) fn is_whole(sentence: &str) -> bool {
    let bare = without_tail(sentence);
    let stops = bare.ends_with(is_terminator);
    let says_something = bare.chars().any(char::is_alphabetic);
    stops && says_something && !(bare.ends_with('.') && is_abbreviation(last_word(bare)))
}

/// `sentence` without the marks and closing brackets at its end.
fn without_tail(sentence: &str) -> &str {
    let words_end = marks::marks(sentence).into_iter().rev().fold(sentence.len(), |end, mark| {
        if part(sentence, mark.range.end..end).trim().is_empty() { mark.range.start } else { end }
    });
    part(sentence, 0..words_end).trim_end().trim_end_matches(is_closing)
}

/// Where the sentence from `start` ends, if the terminator at `at` ends it.
fn end_of_sentence(prose: &str, start: usize, at: usize) -> Option<usize> {
    let rest = part(prose, at..prose.len());
    let after_stops = rest.trim_start_matches(is_terminator);
    let after_closing = after_stops.trim_start_matches(is_closing);
    let after = part(after_closing, marks::leading(after_closing)..after_closing.len());
    let stops = part(rest, 0..rest.len() - after_stops.len());
    let closed = after_closing.len() < after_stops.len();
    let end = prose.len() - after.len();

    let ends = if after.trim().is_empty() {
        true
    } else if stops.chars().any(is_wide_terminator) {
        !(closed && after.starts_with(PARTICLES))
    } else if after.starts_with(char::is_whitespace) {
        let before = part(prose, start..at);
        starts_a_sentence(after.trim_start())
            && !(stops == "." && (is_abbreviation(last_word(before)) || is_list_number(before)))
    } else {
        // `OK!次に`: Japanese writes no space; a full stop so placed is in a name or a number.
        stops.ends_with(['!', '?']) && after.starts_with(is_cjk)
    };
    ends.then_some(end)
}

/// Whether a sentence may start so: not in lower case, unless with a product's name (`iPhone`, `macOS`).
fn starts_a_sentence(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    let mut letters = word.chars().skip_while(|c| !c.is_alphanumeric());
    letters.next().is_none_or(|first| !first.is_lowercase()) || letters.any(char::is_uppercase)
}

fn last_word(text: &str) -> &str {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    word.trim_start_matches(|c: char| !c.is_alphanumeric())
}

fn is_abbreviation(word: &str) -> bool {
    let word = word.trim_end_matches('.').to_lowercase();
    ABBREVIATIONS.contains(&word.as_str())
}

/// Whether all there is of the sentence so far is `2`: an item of a list written in one line.
fn is_list_number(before: &str) -> bool {
    let digits = before.trim();
    (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_terminator(c: char) -> bool {
    let class = CodePointMapData::<SentenceBreak>::new().get(c);
    matches!(class, SentenceBreak::ATerm | SentenceBreak::STerm) || c == '…'
}

/// Terminators that need no space behind them: `。`, `？`, and those of other scripts.
fn is_wide_terminator(c: char) -> bool {
    !c.is_ascii() && CodePointMapData::<SentenceBreak>::new().get(c) == SentenceBreak::STerm
}

fn is_closing(c: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    matches!(category, GeneralCategory::ClosePunctuation | GeneralCategory::FinalPunctuation)
        // Quotes that look the same on both sides, and Markdown's emphasis.
        || matches!(c, '"' | '\'' | '`' | '*' | '_')
}

fn is_cjk(c: char) -> bool {
    let script = CodePointMapData::<Script>::new().get(c);
    matches!(script, Script::Han | Script::Hiragana | Script::Katakana)
}

/// Pairs of brackets, from the opening one to behind the closing one.
fn brackets(prose: &str) -> Vec<Range<usize>> {
    const PAIRS: &[(char, char)] = &[
        ('(', ')'),
        ('（', '）'),
        ('「', '」'),
        ('『', '』'),
        ('“', '”'),
        ('【', '】'),
        ('[', ']'),
    ];
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut pairs = Vec::new();
    for (at, c) in prose.char_indices() {
        let closes_quote = c == '"' && open.iter().any(|&(closing, _)| closing == '"');
        if c == '"' && !closes_quote {
            open.push((c, at));
        } else if let Some(&(_, closing)) = PAIRS.iter().find(|&&(opening, _)| opening == c) {
            open.push((closing, at));
        } else if let Some(depth) = open.iter().rposition(|&(closing, _)| closing == c) {
            let (_, start) = open.swap_remove(depth);
            open.truncate(depth);
            let pair = start..at + c.len_utf8();
            if pair.len() <= WIDEST_BRACKETS {
                pairs.push(pair);
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` are the sentences, each closed by `|`.
    #[track_caller]
    fn check(expected: &str) {
        let prose = expected.replace('|', "");
        let found: Vec<_> = split(&prose).into_iter().map(|range| part(&prose, range)).collect();
        let expected: Vec<_> = expected.split_terminator('|').map(str::trim).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn english_sentences_end_at_terminators_before_a_space() {
        check("Open Settings.| Choose Plan!| Is it “Plus”?| Then “Cancel.”| Done");
        check("Wait...| Then try again…| Ready.");
        check("(See Plans.)| Next.");
    }

    #[test]
    fn japanese_sentences_need_no_space() {
        check("設定を開きます。|次に「プラン」を押してください！|よろしいですか？|はい");
        check("（プランを参照してください。）|次へ進みます。");
        check("OK!|次に進みます。");
    }

    #[test]
    fn a_quoted_sentence_stays_in_the_one_around_it() {
        check(
            "「接続できません。もう一度お試しください。」と表示されたら、再起動します。|以上です。",
        );
        check("It says “Try again. Later.” on the screen.| Wait.");
        check(
            "It reads: \"Sync paused. Clocks differ.\"| Wait.| The file \"a. B\" is \"c\".| Yes.",
        );
        check("See this (it is short. Really.) and go on.| Bye.");
    }

    #[test]
    fn a_bracket_that_is_never_closed_holds_nothing_together() {
        check("Tap (here. Then there.".replace(". T", ".| T").as_str());
    }

    #[test]
    fn full_stops_within_words_end_nothing() {
        check(
            "Update to 1.2.3 or 4.0 first.| Then open config.toml at https://tsumugi.example/help.html now.",
        );
        check(
            "Use HEIC, e.g. IMG_1.HEIC, i.e. Apple's format vs. JPEG.| It costs $4.99.| See No. 5.",
        );
        check("Photos, albums, etc. are kept.| Ask Dr. Mori.");
    }

    #[test]
    fn a_name_in_lower_case_may_start_a_sentence() {
        check("Tap OK.| iPhone users skip this.| macOS is next.");
        check("It stops at 5 p.m. today.");
    }

    #[test]
    fn numbers_of_a_list_in_one_line_stay_with_their_words() {
        check("1. Open it.| 2. Tap Plan.| It was 2024.| Yes.");
    }

    #[test]
    fn marks_belong_to_the_sentence_before_them() {
        check("Open Settings. [1]| Choose Plan [2].| Tap it.[1][2]| Done. [3, 4]");
        check("設定を開きます。[1]|次へ。 [2]|");
    }

    #[test]
    fn other_scripts_have_their_own_terminators() {
        check("यह पहला है।| यह दूसरा है।");
        check("هل نسيت كلمة المرور؟| نعم.");
    }

    #[test]
    fn a_whole_sentence_ends_on_a_terminator() {
        for whole in [
            "Open it.",
            "開きます。」",
            "Open it. [1]",
            "Tap “Go.” [1][2]",
            "Sure!",
            "Open it [1].",
        ] {
            assert!(is_whole(whole), "{whole:?}");
        }
        for broken in ["Open", "Open the", "Use a format, e.g.", "1.", "Do this:", "", "[1]", "..."]
        {
            assert!(!is_whole(broken), "{broken:?}");
        }
    }
}
