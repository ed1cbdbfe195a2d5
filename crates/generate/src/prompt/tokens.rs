//! How many tokens a text is likely to be.

/// About how many tokens a model reads `text` as, rather too many than too few.
///
/// Four ASCII letters or spaces a token; two digits, signs, or letters of alphabets such as Greek, Cyrillic or
/// Arabic (and accented Latin ones); one of any other character, Chinese, Japanese and Korean ones above all.
/// The tokenizers of today's large models do better than this on running text.
#[must_use]
pub fn estimated_tokens(text: &str) -> u64 {
    text.chars().map(quarters).sum::<u64>().div_ceil(4)
}

/// The longest prefix of `text` that is `limit` tokens at most.
pub(super) fn prefix_of_tokens(text: &str, limit: u64) -> &str {
    let mut room = limit.saturating_mul(4);
    let end = text.char_indices().find_map(|(at, c)| match room.checked_sub(quarters(c)) {
        Some(left) => {
            room = left;
            None
        }
        None => Some(at),
    });
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Quarters of a token.
fn quarters(c: char) -> u64 {
    match c {
        ' ' | 'a'..='z' | 'A'..='Z' => 1,
        '\0'..='\u{7ff}' => 2,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scripts_weigh_differently() {
        for (text, tokens) in [
            ("", 0),
            ("a", 1),
            ("reset it", 2),
            ("2026", 2),
            ("привет", 3),
            ("再設定", 3),
            ("🙂", 1),
        ] {
            assert_eq!(estimated_tokens(text), tokens, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_prefix_fits_and_one_character_more_does_not(text in "[a-zé日 0-9]{0,40}", limit in 0_u64..30) {
            let prefix = prefix_of_tokens(&text, limit);
            prop_assert!(estimated_tokens(prefix) <= limit);
            let longer: String = text.chars().take(prefix.chars().count() + 1).collect();
            prop_assert!(prefix == text || estimated_tokens(&longer) > limit);
        }
    }
}
