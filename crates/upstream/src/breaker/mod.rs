//! When an upstream is left alone. Time is passed in, so that every rule is tested without waiting.

mod machine;
mod outcome;
#[cfg(test)]
mod tests;
mod window;

use std::time::Duration;

pub(crate) use machine::{Breaker, Change, Pass, Refusal};
pub(crate) use outcome::Outcome;

/// Whether a breaker may refuse calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BreakerMode {
    /// Nothing is watched.
    Off,
    /// It logs what it would do, and refuses nothing.
    Observe,
    #[default]
    Enforce,
}

/// When an upstream is left alone.
#[derive(Clone, Copy, Debug)]
pub struct BreakerSettings {
    pub mode: BreakerMode,
    /// How long a far side may be silent. A call given up without a first byte says nothing of the far side, which may
    /// just be slower than we like, *unless* the call had waited this long, or every call under way had
    /// heard nothing for this long; that one hangs. 2 s is twice what the slow twentieth of embeddings needs, and more
    /// than that of first tokens. Callers whose budgets are short give up on each single call sooner, which
    /// is why the calls' common silence counts too.
    pub fair_wait: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { mode: BreakerMode::default(), fair_wait: Duration::from_secs(2) }
    }
}

/// Whether calls go through. In [`BreakerMode::Observe`], whether they would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    Closed,
    /// They are refused, but for a probe now and then.
    Open(BreakerCause),
}

/// Why calls are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerCause {
    /// Too many of them failed.
    Failures,
    /// Our key is not accepted.
    BadKey,
    /// The allowance of the day is used up.
    Quota,
}

impl BreakerCause {
    /// How logs and reports name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failures => "failures",
            Self::BadKey => "bad_key",
            Self::Quota => "quota",
        }
    }
}
