//! Classes of characters, as far as the lattice treats them differently.

/// What unknown words are made of, and what ends a lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    Katakana,
    Kanji,
    Hiragana,
    /// Letters and digits of any other script.
    Other,
    /// Spaces, punctuation and symbols: no word crosses them.
    Break,
}

impl Script {
    pub(crate) fn of(c: char) -> Self {
        match c {
            // The middle dot stands between katakana words, though Unicode puts it among the letters.
            '・' => Self::Break,
            'ァ'..='ヿ' | 'ㇰ'..='ㇿ' => Self::Katakana,
            '々' | '〆' | '〇' => Self::Kanji,
            '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => Self::Kanji,
            '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => Self::Kanji,
            'ぁ'..='ゟ' => Self::Hiragana,
            c if c.is_alphanumeric() => Self::Other,
            _ => Self::Break,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(characters: &str, expected: Script) {
        for c in characters.chars() {
            assert_eq!(Script::of(c), expected, "{c:?}");
        }
    }

    #[test]
    fn characters_fall_into_their_script() {
        check("アヴーヿㇷ", Script::Katakana);
        check("漢々〆〇𠮷", Script::Kanji);
        check("あんゔゟ", Script::Hiragana);
        check("az09éя한", Script::Other);
        check("・、。 　「😀\n", Script::Break);
    }
}
