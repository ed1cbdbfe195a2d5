//! [`Counts`]: what became of an upstream's calls.

use std::collections::HashMap;

use domain::FaultKind;

/// What became of an upstream's calls since the process started. The calls that are in none of the sums are under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those that were made; refused ones are not among them.
    pub calls: u64,
    pub succeeded: u64,
    pub failed: HashMap<FaultKind, u64>,
    /// Dropped by the caller before their end, for whatever reason.
    pub abandoned: u64,
    /// Not made, because the breaker was open.
    pub refused: u64,
}

impl Counts {
    /// Calls that ended with a fault of `kind`.
    #[must_use]
    pub fn failed(&self, kind: FaultKind) -> u64 {
        self.failed.get(&kind).copied().unwrap_or_default()
    }

    pub(crate) fn count_failed(&mut self, kind: FaultKind) {
        *self.failed.entry(kind).or_default() += 1;
    }
}
