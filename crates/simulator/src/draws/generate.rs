//! [`GenerateDraw`]: the fate of one generation.

use std::time::Duration;

use super::{Draws, Key, Lognormal, Profile, Subject, seconds_to_duration};

const WHOLE: Lognormal = Lognormal { p50: 0.8, p95: 3.2 };
const FIRST_TOKEN: Lognormal = Lognormal { p50: 0.4, p95: 0.8 };
/// The first token's latest moment, as a share of the whole.
const LATEST_FIRST: f64 = 0.9;
/// Tokens a second, between which a call's rate is drawn evenly.
const RATES: [f64; 2] = [60.0, 90.0];
/// The share of replies that are as long as they like, whatever the prompt asks.
const IGNORES_HINT: f64 = 0.3;

/// Why a slow call is slow. Both have the same distribution of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Physics {
    /// The first token comes at half of the whole: a slow call is slow from its first token, and asking
    /// for less gains nothing.
    #[default]
    Split,
    /// The first token's time is drawn for itself and the rest is decoding: a slow call is a long one,
    /// and a shorter reply ends sooner.
    Tokens,
}

/// How one generation goes if nobody shortens it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GenerateDraw {
    pub physics: Physics,
    /// From the call to the first token.
    pub first_token: Duration,
    /// From the call to the last token of a reply of natural length.
    pub whole: Duration,
    /// The length of the reply if nothing limits it, at least 1: decoding time × rate. With
    /// [`Physics::Split`] and [`Profile::Zero`] replies are as long as what they say, and this is 0.
    pub natural_tokens: u32,
    /// Decoding speed, after time scaling; infinite with [`Profile::Zero`].
    pub tokens_per_second: f64,
    /// Whether this reply pays no heed to a wish for brevity in the prompt.
    pub ignores_hint: bool,
}

impl Draws {
    /// How a generation goes. `scale` is 1, or [`LIGHTER_SCALE`](super::LIGHTER_SCALE) for a lighter
    /// model (whose key should also say so).
    #[must_use]
    pub fn generate(&self, key: &Key, physics: Physics, scale: f64) -> GenerateDraw {
        let chance = key.chance(self.seed);
        let subject = Subject::Generate.of(chance);
        let tail = self.tail(subject);
        let speed = Subject::Rate.of(chance).unit();
        let rate = RATES[0] + (RATES[1] - RATES[0]) * speed;
        let whole = WHOLE.at(subject.normal()) * scale * tail;
        let first = match physics {
            Physics::Split => whole / 2.0,
            Physics::Tokens => {
                let first = FIRST_TOKEN.at(Subject::FirstToken.of(chance).normal());
                (first * scale * tail).min(whole * LATEST_FIRST)
            }
        };
        let draw = GenerateDraw {
            physics,
            first_token: seconds_to_duration(first * self.time_scale),
            whole: seconds_to_duration(whole * self.time_scale),
            natural_tokens: match physics {
                Physics::Split => 0,
                Physics::Tokens => whole_number((whole - first) * rate),
            },
            tokens_per_second: rate / self.time_scale,
            ignores_hint: Subject::Hint.of(chance).happens(IGNORES_HINT),
        };
        if self.profile == Profile::Zero { draw.at_once() } else { draw }
    }
}

impl GenerateDraw {
    fn at_once(self) -> Self {
        Self {
            first_token: Duration::ZERO,
            whole: Duration::ZERO,
            natural_tokens: 0,
            tokens_per_second: f64::INFINITY,
            ..self
        }
    }

    /// The tokens of the reply, where the prompt wishes for at most `hint` and the call allows `cap`
    /// (thinking aside); and whether the cap cut it.
    #[must_use]
    pub fn length(&self, hint: Option<u32>, cap: Option<u32>) -> (u32, bool) {
        let wished = match hint {
            Some(hint) if !self.ignores_hint => self.natural_tokens.min(hint),
            _ => self.natural_tokens,
        };
        match cap {
            Some(cap) if cap < wished => (cap, true),
            _ => (wished, false),
        }
    }

    /// From the call to the last token of a reply of `tokens` tokens.
    #[must_use]
    pub fn ends_after(&self, tokens: u32) -> Duration {
        match self.physics {
            Physics::Split => self.whole,
            Physics::Tokens if tokens >= self.natural_tokens => self.whole,
            Physics::Tokens => {
                let decoding = self.whole.saturating_sub(self.first_token);
                let share = f64::from(tokens) / f64::from(self.natural_tokens.max(1));
                self.first_token + decoding.mul_f64(share)
            }
        }
    }
}

/// Rounds to a count of at least 1.
fn whole_number(tokens: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float beyond the range becomes the nearest end of it"
    )]
    let rounded = tokens.round() as u32;
    rounded.max(1)
}
