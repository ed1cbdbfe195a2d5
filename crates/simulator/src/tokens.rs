//! What a token is, here: one Chinese, Japanese or Korean character, or four of any other kind.
//!
//! Real models count otherwise, and each in its own way; this rule is near enough and anybody can check it.

/// Other characters in one token.
const CHARACTERS_PER_TOKEN: u32 = 4;

/// The tokens of `text`, rounded up.
#[must_use]
pub fn count_tokens(text: &str) -> u32 {
    tokens_in(text.chars().map(weight).fold(0, u32::saturating_add))
}

/// The longest beginning of `text` with at most `most` tokens.
pub(crate) fn beginning(text: &str, most: u32) -> &str {
    let room = most.saturating_mul(CHARACTERS_PER_TOKEN);
    let mut used = 0u32;
    for (at, c) in text.char_indices() {
        used = used.saturating_add(weight(c));
        if used > room {
            return text.get(..at).unwrap_or(text);
        }
    }
    text
}

/// Splits `text` into pieces: the first of at most `first` tokens, the others of at most `rest`.
pub(crate) fn pieces(text: &str, first: u32, rest: u32) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut left, mut size) = (text, first);
    while !left.is_empty() {
        let piece = beginning(left, size.max(1));
        pieces.push(piece);
        left = left.get(piece.len()..).unwrap_or_default();
        size = rest;
    }
    pieces
}

/// For each piece of a text, the tokens up to its end.
pub(crate) fn running_tokens(pieces: &[&str]) -> Vec<u32> {
    let mut used = 0u32;
    let ends = pieces.iter().map(|piece| {
        used = piece.chars().map(weight).fold(used, u32::saturating_add);
        tokens_in(used)
    });
    ends.collect()
}

/// A character's weight in quarters of a token.
fn weight(c: char) -> u32 {
    if is_ideographic(c) { CHARACTERS_PER_TOKEN } else { 1 }
}

fn tokens_in(weight: u32) -> u32 {
    weight.div_ceil(CHARACTERS_PER_TOKEN)
}

/// Whether `c` is of a script written without spaces, or its punctuation.
pub(crate) fn is_ideographic(c: char) -> bool {
    matches!(u32::from(c),
        0x1100..=0x11ff | 0x2e80..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0xfe30..=0xfe4f
        | 0xff00..=0xffef | 0x2_0000..=0x3_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_latin_characters_or_one_japanese_one_are_a_token() {
        for (text, expected) in
            [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("設定", 2), ("ab設", 2), ("é€", 1)]
        {
            assert_eq!(count_tokens(text), expected, "{text:?}");
        }
    }

    #[test]
    fn pieces_make_the_text_again_and_are_no_longer_than_asked() {
        let text = "Open Settings. 設定を開きます。 Then save.";
        let pieces = pieces(text, 2, 5);
        assert_eq!(pieces.concat(), text);
        assert!(count_tokens(pieces[0]) <= 2);
        assert!(pieces[1..].iter().all(|piece| count_tokens(piece) <= 5));
        assert_eq!(beginning(text, 0), "");
    }
}
