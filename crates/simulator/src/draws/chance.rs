//! Chance without state: the same seed, key and subject give the same number in any order, on any machine.

/// What numbers are drawn from: 64 bits that a seed and a few words were mixed into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(scramble(seed))
    }

    /// The chance that also depends on `word`.
    #[must_use]
    pub(crate) fn with(self, word: u64) -> Self {
        Self(scramble(self.0 ^ scramble(word)))
    }

    /// All of it, as one number.
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// A number evenly spread over (0, 1).
    pub(crate) fn unit(self) -> f64 {
        // The upper 52 bits, in the middle of their interval: never 0, never 1.
        const SPAN: f64 = (1u64 << 52) as f64;
        ((self.0 >> 12) as f64 + 0.5) / SPAN
    }

    /// A number of the standard normal distribution (Box and Muller's transform).
    pub(crate) fn normal(self) -> f64 {
        let (radius, angle) = (self.with(1).unit(), self.with(2).unit());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// Whether something of probability `rate` happens.
    pub(crate) fn happens(self, rate: f64) -> bool {
        self.unit() < rate
    }
}

/// A stable number for a text (FNV-1a, then scrambled).
pub(crate) fn number_of(text: &str) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    scramble(text.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// The output function of the `SplitMix64` generator: every input bit moves every output bit.
fn scramble(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
