//! [`Backoff`]: how long to wait before trying again.

use std::time::Duration;

const SHORTEST: Duration = Duration::from_millis(50);

/// Doubling pauses from 50 ms on, each drawn from its upper half so that servers do not return in step.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    most: Duration,
    longest: Duration,
}

impl Backoff {
    /// No pause will be longer than `longest`.
    pub(crate) fn up_to(longest: Duration) -> Self {
        Self { most: SHORTEST * 2, longest }
    }

    /// The pause after one more failure.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.most.min(self.longest).mul_f64(0.5 + fastrand::f64() / 2.0);
        self.most = (self.most * 2).min(self.longest);
        pause
    }

    /// All is well again.
    pub(crate) fn reset(&mut self) {
        *self = Self::up_to(self.longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_the_shortest_to_the_longest_and_differ() {
        const LONGEST: Duration = Duration::from_secs(30);
        let mut backoff = Backoff::up_to(LONGEST);
        let pauses: Vec<_> = (0..40).map(|_| backoff.next()).collect();
        assert!(pauses[0] >= SHORTEST && pauses[0] <= 2 * SHORTEST, "{pauses:?}");
        assert!(pauses.iter().all(|pause| *pause <= LONGEST));
        assert!(pauses[20..].iter().all(|pause| *pause >= LONGEST / 2), "{pauses:?}");
        assert!(pauses[20..].iter().any(|pause| *pause != pauses[20]));
        backoff.reset();
        assert!(backoff.next() <= 2 * SHORTEST);
    }
}
