//! Runs: stretches of a folded text that one method of cutting words applies to.

use std::ops::Range;

/// Which method of cutting words a character calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Han characters and kana, whose words have no spaces between them.
    Ideographic,
    Hangul,
    /// Thai, Lao, Khmer and Burmese: alphabetic, but without spaces between words.
    SouthEastAsian,
    /// Any other letter or digit, and the marks that belong to one.
    Alphabetic,
    /// Spaces, punctuation, symbols.
    Gap,
}

impl Kind {
    pub(crate) fn of(c: char) -> Self {
        match c {
            'a'..='z' | '0'..='9' => Self::Alphabetic,
            _ if c.is_ascii() && !c.is_ascii_alphanumeric() => Self::Gap,
            _ if is_han(c) || is_kana(c) => Self::Ideographic,
            '가'..='힣' | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' => Self::Hangul,
            '\u{0e01}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => {
                Self::SouthEastAsian
            }
            _ if c.is_alphanumeric() || is_mark(c) => Self::Alphabetic,
            _ => Self::Gap,
        }
    }
}

pub(crate) fn is_han(c: char) -> bool {
    matches!(c,
        '々'..='〇' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

pub(crate) fn is_kana(c: char) -> bool {
    matches!(c, 'ぁ'..='ゟ' | 'ァ'..='ヺ' | 'ー'..='ヿ' | 'ㇰ'..='ㇿ' | 'ｦ'..='ﾟ')
}

/// Hiragana and the long-vowel mark: alone they are grammar more often than content.
pub(crate) fn is_hiragana_only(text: &str) -> bool {
    text.chars().all(|c| matches!(c, 'ぁ'..='ゟ' | 'ー'))
}

/// Combining marks of the scripts that write vowels or accents with them.
pub(crate) fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// The runs of `text` that are no gaps, in order.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = (Kind, Range<usize>)> {
    let mut characters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = characters.find(|(_, c)| Kind::of(*c) != Kind::Gap)?;
        let kind = Kind::of(first);
        let mut end = start + first.len_utf8();
        while let Some((at, c)) = characters.next_if(|(_, c)| Kind::of(*c) == kind || is_mark(*c)) {
            end = at + c.len_utf8();
        }
        Some((kind, start..end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(Kind, &str)]) {
        let found: Vec<_> =
            runs(text).map(|(kind, range)| (kind, text.get(range).unwrap())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn texts_split_where_the_method_changes() {
        check(
            "pinを忘れた。 비밀번호 wifi를",
            &[
                (Kind::Alphabetic, "pin"),
                (Kind::Ideographic, "を忘れた"),
                (Kind::Hangul, "비밀번호"),
                (Kind::Alphabetic, "wifi"),
                (Kind::Hangul, "를"),
            ],
        );
        check(
            "ตั้งค่า wi-fi",
            &[(Kind::SouthEastAsian, "ตั้งค่า"), (Kind::Alphabetic, "wi"), (Kind::Alphabetic, "fi")],
        );
        check("…!", &[]);
    }
}
