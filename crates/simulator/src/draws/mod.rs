//! Latencies as pure functions of a seed and a key, for the server and for whoever replays it offline.
//!
//! | drawn | p50 | p95 (seconds, lognormal) |
//! |---|---|---|
//! | embed | 0.35 | 0.9 |
//! | vector search | 0.4 | 1.8 |
//! | generate, whole | 0.8 | 3.2 |
//! | generate, first token, in [`Physics::Tokens`] | 0.4 | 0.8, at most 0.9 of the whole |

mod chance;
mod generate;
mod key;

use std::time::Duration;

pub(crate) use chance::{Chance, number_of};
pub use generate::{GenerateDraw, Physics};
pub use key::Key;
pub(crate) use key::marker_in;

/// How slow a call of a lighter model is, measured by a call of its own.
pub const LIGHTER_SCALE: f64 = 0.6;

/// Which distribution latencies come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Profile {
    /// Everything at once: for measuring what others cost.
    #[default]
    Zero,
    /// A day in the field, as the table says.
    Field,
    /// The field with a tail: one draw in a hundred is multiplied by a Pareto number from 10 up
    /// (exponent 1.5, cut at 100).
    Heavy,
}

/// A lognormal distribution by two of its quantiles, in seconds.
#[derive(Clone, Copy, Debug)]
struct Lognormal {
    p50: f64,
    p95: f64,
}

const EMBED: Lognormal = Lognormal { p50: 0.35, p95: 0.9 };
const VECTOR: Lognormal = Lognormal { p50: 0.4, p95: 1.8 };

/// What is drawn; part of a draw's identity.
#[derive(Clone, Copy, Debug)]
enum Subject {
    Embed = 1,
    Vector,
    Generate,
    FirstToken,
    Rate,
    Hint,
    Tail,
}

impl Subject {
    fn of(self, chance: Chance) -> Chance {
        chance.with(self as u64)
    }
}

/// The source of all latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draws {
    seed: u64,
    profile: Profile,
    time_scale: f64,
}

impl Draws {
    #[must_use]
    pub fn new(seed: u64, profile: Profile) -> Self {
        Self { seed, profile, time_scale: 1.0 }
    }

    /// The same draws with every delay multiplied by `factor` (not negative, finite; else 1).
    #[must_use]
    pub fn time_scaled(self, factor: f64) -> Self {
        let usable = factor.is_finite() && factor >= 0.0;
        Self { time_scale: if usable { factor } else { 1.0 }, ..self }
    }

    /// How long embedding takes, however many texts.
    #[must_use]
    pub fn embed(&self, key: &Key) -> Duration {
        self.simple(key, Subject::Embed, EMBED)
    }

    /// How long a vector search takes: for a product that is told to slow its own down.
    #[must_use]
    pub fn vector(&self, key: &Key) -> Duration {
        self.simple(key, Subject::Vector, VECTOR)
    }

    fn simple(&self, key: &Key, subject: Subject, distribution: Lognormal) -> Duration {
        if self.profile == Profile::Zero {
            return Duration::ZERO;
        }
        let chance = subject.of(key.chance(self.seed));
        let seconds = distribution.at(chance.normal()) * self.tail(chance);
        seconds_to_duration(seconds * self.time_scale)
    }

    /// The factor of [`Profile::Heavy`].
    fn tail(&self, chance: Chance) -> f64 {
        const SHARE: f64 = 0.01;
        const LEAST: f64 = 10.0;
        const MOST: f64 = 100.0;
        const EXPONENT: f64 = 1.5;
        let chance = Subject::Tail.of(chance);
        if self.profile != Profile::Heavy || !chance.happens(SHARE) {
            return 1.0;
        }
        (LEAST * chance.with(1).unit().powf(-1.0 / EXPONENT)).min(MOST)
    }

    /// The chance that belongs to `key` and one more thing: for faults.
    pub(crate) fn chance(&self, key: Key, thing: &str) -> Chance {
        key.chance(self.seed).with(number_of(thing))
    }
}

impl Lognormal {
    /// The quantile at `z` standard deviations.
    fn at(self, z: f64) -> f64 {
        /// Standard deviations between the median and the 95th percentile of a normal distribution.
        const Z95: f64 = 1.644_853_626_951_472_2;
        (self.p50.ln() + z * (self.p95 / self.p50).ln() / Z95).exp()
    }
}

fn seconds_to_duration(seconds: f64) -> Duration {
    // An hour is longer than anyone waits.
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(3600))
}
