//! [`Key`]: whose luck a call has.

use super::chance::{Chance, number_of};

/// What a draw depends on besides the seed and what is drawn.
///
/// Two systems that send the same question, marked `[#17]`, meet the same luck, however many calls each
/// makes in whatever order. A further attempt is fresh luck, and so is a call of a lighter model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    source: u64,
    attempt: u32,
    lighter: u64,
}

impl Key {
    /// The key of texts marked `[#number]`.
    #[must_use]
    pub fn marker(number: u64) -> Self {
        Self::of(Chance::new(1).with(number))
    }

    /// The key of the call whose `x-request-id` is `id`.
    #[must_use]
    pub fn request(id: &str) -> Self {
        Self::of(Chance::new(2).with(number_of(id)))
    }

    /// The key of the `number`th call that says nothing about itself.
    #[must_use]
    pub fn counted(number: u64) -> Self {
        Self::of(Chance::new(3).with(number))
    }

    /// The key of the first `[#number]` in `text`, if there is one.
    #[must_use]
    pub fn in_text(text: &str) -> Option<Self> {
        marker_in(text).map(Self::marker)
    }

    fn of(chance: Chance) -> Self {
        Self { source: chance.number(), attempt: 1, lighter: 0 }
    }

    /// The same call tried for the `number`th time; the first is 1, and 0 means the same.
    #[must_use]
    pub fn attempt(self, number: u32) -> Self {
        Self { attempt: number.max(1), ..self }
    }

    /// The same call made to a lighter model, whose luck is its own.
    #[must_use]
    pub fn lighter(self, model: &str) -> Self {
        Self { lighter: number_of(model), ..self }
    }

    pub(super) fn chance(self, seed: u64) -> Chance {
        Chance::new(seed).with(self.source).with(u64::from(self.attempt)).with(self.lighter)
    }
}

/// The number of the first `[#number]` in a text.
pub(crate) fn marker_in(text: &str) -> Option<u64> {
    text.match_indices("[#").find_map(|(at, opening)| {
        let (digits, _) = text.get(at + opening.len()..)?.split_once(']')?;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { digits.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_marker_counts() {
        assert_eq!(marker_in("How do I [1] sign in? [#42] [#7]"), Some(42));
        assert_eq!(marker_in("[#x] [#] [# 1] [#8"), None);
        assert_eq!(marker_in("[#9999999999999999999999]"), None);
        assert_eq!(Key::in_text("パスワード[#3]"), Some(Key::marker(3)));
    }

    #[test]
    fn sources_attempts_and_lighter_models_differ() {
        let all = [
            Key::marker(1),
            Key::marker(2),
            Key::request("1"),
            Key::counted(1),
            Key::marker(1).attempt(2),
            Key::marker(1).lighter("a"),
            Key::marker(1).lighter("b"),
        ];
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                assert_ne!(a, b);
                assert_ne!(a.chance(1), b.chance(1));
            }
        }
        assert_eq!(Key::marker(1), Key::marker(1).attempt(1));
    }
}
