//! Making quoted words fit: in one line, within a length, free of marks that are not ours.

use crate::marks::disarmed;
use crate::part;

/// Characters of a title in a lead-in at most.
const LONGEST_TITLE: usize = 80;

/// A sentence as it is shown: its line breaks and runs of white space are single spaces.
pub(crate) fn in_line(sentence: &str) -> String {
    // Joined first: a bracket that closes on the next line becomes a mark only then.
    disarmed(&sentence.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A title as it is shown within our own sentences.
pub(crate) fn title_in_line(title: &str) -> String {
    shortened(&in_line(title), LONGEST_TITLE)
}

/// `text` if it has at most `longest` characters; else what fits up to the end of a clause or word, and `…`.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    let Some((limit, _)) = text.char_indices().nth(longest) else { return text.to_owned() };
    let room =
        text.char_indices().nth(longest.saturating_sub(1)).map_or(0, |(at, _)| at).min(limit);
    let kept = part(text, 0..room);
    // A cut before the middle would give away more than a broken word does harm.
    let late = |end: &usize| *end > room / 2;
    let clause = kept.rfind(['、', '，', ';', '；', ',', '：']).filter(late);
    let word = || kept.rfind(char::is_whitespace).filter(late);
    let end = clause.or_else(word).unwrap_or(room);
    let mut shortened = part(text, 0..end).trim_end().to_owned();
    if longest > 0 {
        shortened.push('…');
    }
    shortened
}

/// Characters of `text`.
pub(crate) fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, longest: usize, expected: &str) {
        assert_eq!(shortened(text, longest), expected);
    }

    #[test]
    fn a_long_text_is_cut_at_a_clause_or_else_a_word() {
        check("Open Settings", 13, "Open Settings");
        check("Open Settings and choose", 20, "Open Settings and…");
        check("Open the Settings, and choose Plan", 28, "Open the Settings…");
        check("設定を開いて、プランを選びます", 10, "設定を開いて…");
        check("Donaudampfschifffahrt", 6, "Donau…");
        check("ab", 1, "…");
        check("ab", 0, "");
    }

    #[test]
    fn a_sentence_in_line_has_no_line_breaks_and_no_marks() {
        assert_eq!(in_line("See\n  [2] and [\n3 ]."), "See (2) and ( 3 ).");
    }

    proptest! {
        #[test]
        fn a_shortened_text_keeps_the_limit(text in "\\PC{0,40}", longest in 0_usize..30) {
            prop_assert!(length(&shortened(&text, longest)) <= longest);
        }
    }
}
