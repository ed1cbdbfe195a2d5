//! The text that the model's pieces are cut from.

use unicode_normalization::UnicodeNormalization;

/// Stands for a space inside a piece.
pub(super) const SPACE: char = '▁';

/// Longer texts are cut. The tokenizer's worst case stays under 2 ms, and no text of the longest token
/// sequence that is embedded is longer: 512 pieces of at most 16 characters.
pub(super) const LONGEST_CHARS: usize = 8192;

/// Brings `text` into the form the model was trained on: NFKC, every run of white space one [`SPACE`], one
/// [`SPACE`] in front and none behind. Empty if nothing but white space is left.
pub(super) fn normalized(text: &str) -> Vec<char> {
    let mut chars = Vec::with_capacity(text.len().min(LONGEST_CHARS) + 1);
    for char in text.nfkc().take(LONGEST_CHARS) {
        let after_space = chars.last().is_none_or(|last| *last == SPACE);
        if is_blank(char) {
            if !after_space {
                chars.push(SPACE);
            }
            continue;
        }
        if chars.is_empty() {
            chars.push(SPACE);
        }
        chars.push(char);
    }
    if chars.last() == Some(&SPACE) {
        chars.pop();
    }
    chars
}

/// What the model's own normalisation (`nmt_nfkc` of `SentencePiece`) turns into a space. These thirteen
/// characters and the space itself are all that it changes in a text that is NFKC already.
fn is_blank(char: char) -> bool {
    matches!(
        char,
        ' ' | '\t'
            | '\n'
            | '\u{c}'
            | '\r'
            | '\u{1680}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'
            | '\u{2029}'
            | SPACE
            | '\u{feff}'
            | '\u{fffd}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(normalized(text).into_iter().collect::<String>(), expected, "{text:?}");
    }

    #[test]
    fn white_space_becomes_one_mark_before_each_word() {
        check("reset  my\tpassword\n", "▁reset▁my▁password");
        check("\u{200b} a\u{feff}▁b", "▁a▁b");
        check("設定　画面", "▁設定▁画面");
    }

    #[test]
    fn a_blank_text_is_empty() {
        for blank in ["", " ", "\t\r\n", "　", "\u{fffd}"] {
            check(blank, "");
        }
    }

    #[test]
    fn compatibility_forms_are_folded() {
        check("ﾌﾟﾗﾝ", "▁プラン");
        check("Ｗｉ－Ｆｉ①", "▁Wi-Fi1");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(normalized(&"x".repeat(LONGEST_CHARS * 2)).len(), LONGEST_CHARS + 1);
    }
}
