//! [`fold`]: one spelling for texts that differ in width, case or invisible characters.

use std::ops::Range;

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// A text in NFKC and lower case, without default-ignorable characters, that knows its original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded {
    text: String,
    /// In order; the first starts at 0 in both texts unless both are empty.
    pieces: Vec<Piece>,
    original_length: usize,
}

/// A stretch of the folded text and where it came from; it ends where the next one starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    folded: usize,
    original: usize,
    /// Whether offsets within map one to one; else the stretch maps as a whole.
    linear: bool,
}

/// Folds `text`: NFKC, lower case, default-ignorable characters (zero-width space, soft hyphen, bidi
/// marks) dropped.
#[must_use]
pub fn fold(text: &str) -> Folded {
    let mut folded = Folded {
        text: String::with_capacity(text.len()),
        pieces: Vec::new(),
        original_length: text.len(),
    };
    let mut rest = text;
    while !rest.is_empty() {
        let at = text.len() - rest.len();
        let (plain, after) = split_plain(rest);
        if plain.is_empty() {
            let (cluster, after) = split_cluster(rest);
            folded.push_cluster(cluster, at);
            rest = after;
        } else {
            folded.start_piece(at, true);
            folded.text.extend(plain.chars().map(|c| c.to_ascii_lowercase()));
            rest = after;
        }
    }
    folded
}

impl Folded {
    /// The folded text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The bytes of the original that `range` of the folded text came from, on character boundaries.
    /// Where several characters became one, or one became several, all of them are covered.
    #[must_use]
    pub fn original_range(&self, range: Range<usize>) -> Range<usize> {
        if range.is_empty() {
            let at = self.original_start(range.start);
            return at..at;
        }
        self.original_start(range.start)..self.original_end(range.end)
    }

    fn original_start(&self, at: usize) -> usize {
        let after = self.pieces.partition_point(|piece| piece.folded <= at);
        match after.checked_sub(1).and_then(|index| self.pieces.get(index)) {
            Some(piece) if piece.linear => {
                (piece.original + (at - piece.folded)).min(self.original_length)
            }
            Some(piece) => piece.original,
            None => 0,
        }
    }

    fn original_end(&self, at: usize) -> usize {
        let after = self.pieces.partition_point(|piece| piece.folded < at);
        let end = self.pieces.get(after).map_or(self.original_length, |next| next.original);
        match after.checked_sub(1).and_then(|index| self.pieces.get(index)) {
            Some(piece) if piece.linear => (piece.original + (at - piece.folded)).min(end),
            Some(_) => end,
            None => 0,
        }
    }

    /// Appends one cluster of the original, which starts there at `at`.
    fn push_cluster(&mut self, cluster: &str, at: usize) {
        let before = self.text.len();
        let kept = cluster.chars().filter(|c| !is_default_ignorable(*c));
        let lower = kept.nfkc().flat_map(char::to_lowercase);
        let characters_before = cluster.chars().count();
        self.text.extend(lower);
        let new = self.text.get(before..).unwrap_or_default();
        let linear =
            characters_before == 1 && new.len() == cluster.len() && new.chars().count() == 1;
        self.start_piece_at(before, at, linear);
    }

    fn start_piece(&mut self, original: usize, linear: bool) {
        self.start_piece_at(self.text.len(), original, linear);
    }

    /// Starts a piece, or lets the last one run on where that says the same.
    fn start_piece_at(&mut self, folded: usize, original: usize, linear: bool) {
        let runs_on = self.pieces.last().is_some_and(|last| {
            linear && last.linear && folded - last.folded == original - last.original
        });
        if !runs_on {
            self.pieces.push(Piece { folded, original, linear });
        }
    }
}

/// Splits off characters that NFKC leaves as they are, short of the last one: it may combine with what
/// follows. A fast path for nearly all of English, Japanese and Chinese.
fn split_plain(text: &str) -> (&str, &str) {
    let end = text.char_indices().find(|(_, c)| !is_plain(*c)).map_or(text.len(), |(at, _)| at);
    let (plain, after) = text.split_at_checked(end).unwrap_or((text, ""));
    let last = plain.chars().next_back().map_or(0, char::len_utf8);
    let end = if after.is_empty() { plain.len() } else { plain.len() - last };
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// ASCII, kana without separate sound marks, the ideographs of the basic block, and their punctuation.
fn is_plain(c: char) -> bool {
    c.is_ascii()
        || matches!(c, '、'..='」' | 'ぁ'..='ゖ' | 'ァ'..='ヺ' | 'ー' | '\u{4e00}'..='\u{9fff}')
}

/// Splits off the first character with all that may merge into it under NFKC, or vanish behind it.
fn split_cluster(text: &str) -> (&str, &str) {
    let end = text
        .char_indices()
        .skip(1)
        .find(|(_, c)| !joins_the_character_before(*c))
        .map_or(text.len(), |(at, _)| at);
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn joins_the_character_before(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    let mut first = None;
    decompose_compatible(c, |part| first = first.or(Some(part)));
    let first = first.unwrap_or(c);
    canonical_combining_class(first) != 0
        || is_nfc_quick(std::iter::once(first)) == IsNormalized::Maybe
        || is_default_ignorable(c)
}

/// Unicode's `Default_Ignorable_Code_Point` (`DerivedCoreProperties.txt`, Unicode 16).
fn is_default_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `part` of the folded text stands for `source` of the original.
    #[track_caller]
    fn check(original: &str, expected: &str, part: &str, source: &str) {
        let folded = fold(original);
        assert_eq!(folded.as_str(), expected);
        let start = expected.find(part).unwrap();
        let range = folded.original_range(start..start + part.len());
        assert_eq!(original.get(range).unwrap(), source, "{part:?} of {original:?}");
    }

    #[test]
    fn ascii_keeps_its_offsets() {
        check("Reset my PIN", "reset my pin", "pin", "PIN");
    }

    #[test]
    fn half_width_katakana_with_sound_marks_map_to_both_characters() {
        check("ﾊﾟｽﾜｰﾄﾞを", "パスワードを", "パスワード", "ﾊﾟｽﾜｰﾄﾞ");
        check("ﾊﾟｽﾜｰﾄﾞを", "パスワードを", "ド", "ﾄﾞ");
    }

    #[test]
    fn full_width_letters_and_ligatures_map_to_what_was_written() {
        check("ＴＧ－１０４２ へ", "tg-1042 へ", "1042", "１０４２");
        check("the o\u{fb03}ce", "the office", "office", "o\u{fb03}ce");
        check("㍿アプリ", "株式会社アプリ", "会社", "㍿");
    }

    #[test]
    fn decomposed_accents_are_composed() {
        check("cafe\u{301} au", "caf\u{e9} au", "caf\u{e9}", "cafe\u{301}");
    }

    #[test]
    fn invisible_characters_are_dropped() {
        check("pass\u{200b}word\u{ad}s", "passwords", "passwords", "pass\u{200b}word\u{ad}s");
        check("\u{feff}hello", "hello", "hello", "hello");
    }

    #[test]
    fn what_follows_an_emoji_keeps_its_place() {
        check("😀️ İstanbul 한국", "😀 i\u{307}stanbul 한국", "한국", "한국");
    }

    proptest! {
        #[test]
        fn folding_equals_nfkc_and_lower_case_of_the_whole(
            text in prop_oneof![any::<String>(), "[A-z、-」ぁ-ゟァ-ヿ一-鿿\u{3099}\u{309a}ﾞﾟe\u{301}]{0,20}"],
        ) {
            let kept: String = text.chars().filter(|c| !is_default_ignorable(*c)).collect();
            let whole: String = kept.nfkc().flat_map(char::to_lowercase).collect();
            let folded = fold(&text);
            prop_assert_eq!(folded.as_str(), whole);
        }

        #[test]
        fn ranges_are_ordered_and_on_boundaries(text in "[a-cＡé\u{301}ﾊﾟ\u{ff9e}㍿\u{fb03}😀\u{200b}\u{fe0f}각ᄀ\u{1161}\u{11a8}]{0,20}") {
            let folded = fold(&text);
            let mut last = 0;
            for (at, c) in folded.as_str().char_indices() {
                let range = folded.original_range(at..at + c.len_utf8());
                prop_assert!(text.get(range.clone()).is_some_and(|source| !source.is_empty()));
                prop_assert!(last <= range.start);
                last = range.start;
            }
            let whole = folded.original_range(0..folded.as_str().len());
            prop_assert!(text.get(whole).is_some());
        }
    }
}
