//! [`fold_text`]: one spelling per text.
//!
//! One pass in this order is enough, and folding what was folded changes nothing:
//! dropping characters comes before NFKC, so whatever becomes neighbours by it composes at once; NFKC of a
//! kept character never contains one to drop (a test goes through all of Unicode); and the spaces that
//! are taken out last compose with nothing on either side.

use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;
use unicode_normalization::UnicodeNormalization;

/// NFKC, without control, zero-width, bidi and other characters that show nothing; every run of white
/// space (line breaks, tabs and U+3000 among it) is one space, and there is none at the ends.
///
/// Idempotent. Joiners and variation selectors go too, so an emoji sequence becomes its parts.
#[must_use]
pub fn fold_text(raw: &str) -> String {
    folded(raw).collect()
}

/// The first `most` characters of [`fold_text`], for what a far side calls something: fit for a log and for a
/// response, whatever was sent. Empty if there is nothing to see.
#[must_use]
pub fn short_name(raw: &str, most: usize) -> String {
    let mut name: String = folded(raw).take(most).collect();
    name.truncate(name.trim_end().len());
    name
}

/// The characters of [`fold_text`], made as they are asked for.
pub(crate) fn folded(raw: &str) -> impl Iterator<Item = char> {
    single_spaced(raw.chars().filter_map(kept).nfkc())
}

/// What stands for `c` before NFKC: a space for white space, nothing for what shows nothing.
fn kept(c: char) -> Option<char> {
    if c.is_whitespace() {
        // First, because line breaks and tabs are control characters too.
        Some(' ')
    } else {
        (!shows_nothing(c)).then_some(c)
    }
}

fn shows_nothing(c: char) -> bool {
    c.is_control()
        // Zero-width characters, bidi marks, overrides and isolates, soft hyphens, variation selectors, tags, fillers.
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
        // Ruby annotation anchors, which Unicode leaves out of that set.
        || matches!(c, '\u{FFF9}'..='\u{FFFB}')
}

/// Takes out spaces at the ends and repeated ones.
fn single_spaced(mut chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    let mut started = false;
    let mut next_after_space = None;
    std::iter::from_fn(move || {
        if let Some(c) = next_after_space.take() {
            return Some(c);
        }
        let next = chars.next()?;
        if next != ' ' {
            started = true;
            return Some(next);
        }
        let after_run = chars.find(|&c| c != ' ')?;
        if started {
            next_after_space = Some(after_run);
            Some(' ')
        } else {
            started = true;
            Some(after_run)
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(raw: &str, expected: &str) {
        assert_eq!(fold_text(raw), expected, "{raw:?}");
    }

    #[test]
    fn width_and_compatibility_forms_are_folded() {
        check("ＴＧ－１０４２　エラー", "TG-1042 エラー");
        check("ﾊﾟｽﾜｰﾄﾞ", "パスワード");
        check("ﬁle №\u{a0}①", "file No 1");
        check("か\u{3099}", "が");
    }

    #[test]
    fn a_name_is_short_and_shows() {
        assert_eq!(short_name("gemini-3.6-flash", 128), "gemini-3.6-flash");
        assert_eq!(
            short_name("a\0b\u{202e}c\u{2066}d\u{2028}e\u{85}f\u{1b}[31m", 128),
            "abcd e f[31m"
        );
        assert_eq!(short_name("\0\u{200b}\u{2029}", 128), "");
        assert_eq!(short_name(&"m".repeat(200_000), 128), "m".repeat(128));
        assert_eq!(short_name("one two", 4), "one");
    }

    #[test]
    fn what_shows_nothing_goes() {
        check(
            "Thunder\u{200b}bird pass\u{200d}word man\u{2060}ager\u{feff}",
            "Thunderbird password manager",
        );
        check("\u{202e}abc\u{202c} \u{2067}def\u{2069}\u{200f}\u{61c}", "abc def");
        check("nul\0 bell\u{7} del\u{7f} c1\u{86}", "nul bell del c1");
        check("soft\u{ad}hyphen", "softhyphen");
        check("👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}", "👨👩👧 ❤");
    }

    #[test]
    fn white_space_is_folded_and_trimmed() {
        check("  a\t\r\n b\u{85}c\u{2028}d\u{3000}\u{3000}e ", "a b c d e");
        check(" \n\u{200b}\t ", "");
        check("\u{200b} a", "a");
    }

    #[test]
    fn letters_that_become_neighbours_compose() {
        check("e\u{200b}\u{301}", "é");
        check("\u{1100}\u{200d}\u{1161}", "가");
    }

    #[test]
    fn nfkc_of_a_kept_character_holds_nothing_to_drop() {
        for c in (char::MIN..=char::MAX).filter_map(kept) {
            let stays = |n: char| n == ' ' || kept(n) == Some(n);
            assert!(std::iter::once(c).nfkc().all(stays), "U+{:04X}", u32::from(c));
        }
    }

    /// Strings dense in what folding must get right: marks, joiners, spaces, jamo, half-width kana.
    fn troublesome() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>(),
            prop::char::range('\u{0}', '\u{ff}'),
            prop::char::range('\u{2b0}', '\u{36f}'),
            prop::char::range('\u{1100}', '\u{11ff}'),
            prop::char::range('\u{2000}', '\u{206f}'),
            prop::char::range('\u{3000}', '\u{30ff}'),
            prop::char::range('\u{f900}', '\u{faff}'),
            prop::char::range('\u{ff00}', '\u{ffff}'),
        ];
        prop::collection::vec(piece, 0..40).prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #[test]
        fn folding_what_was_folded_changes_nothing(raw in troublesome()) {
            let once = fold_text(&raw);
            prop_assert_eq!(fold_text(&once), once);
        }

        #[test]
        fn folded_text_is_nfkc_and_single_spaced(raw in troublesome()) {
            let folded = fold_text(&raw);
            prop_assert!(unicode_normalization::is_nfkc(&folded));
            prop_assert!(!folded.contains("  ") && folded.trim() == folded);
            prop_assert!(!folded.chars().any(shows_nothing));
        }
    }
}
