//! [`Deadline`]: a fixed moment on the tokio clock.

use std::future::Future;

use thiserror::Error;
use tokio::time::{Duration, Instant};

use crate::LONGEST_BUDGET;

/// A fixed moment on the monotonic clock, shared by every stage of one request.
///
/// There is deliberately no "never": an optional deadline makes `min` pick the missing one, and then
/// nothing is bounded. Only entry points (a server, a command, a background job) construct one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline(Instant);

/// The work was still running when its deadline passed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("out of time")]
pub struct OutOfTime;

impl Deadline {
    /// The deadline that lies `budget` from now; budgets over [`LONGEST_BUDGET`] are cut to it.
    #[must_use]
    pub fn after(budget: Duration) -> Self {
        Self::from_start(Instant::now(), budget)
    }

    /// The deadline that lies `budget` from `start`, for entry points that took the time earlier.
    #[must_use]
    pub fn from_start(start: Instant, budget: Duration) -> Self {
        Self(start + budget.min(LONGEST_BUDGET))
    }

    /// The moment itself, for timers and for arithmetic on recorded times.
    #[must_use]
    pub fn instant(self) -> Instant {
        self.0
    }

    /// Time left; zero once the deadline has passed.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.remaining_at(Instant::now())
    }

    /// Time left at `now`; zero once the deadline has passed.
    #[must_use]
    pub fn remaining_at(self, now: Instant) -> Duration {
        self.0.saturating_duration_since(now)
    }

    /// Whether work that takes `needed` could still finish in time.
    #[must_use]
    pub fn has_budget_for(self, needed: Duration) -> bool {
        needed <= self.remaining()
    }

    /// The deadline that leaves `reserve` unspent before this one; never earlier than now.
    #[must_use]
    pub fn reserving(self, reserve: Duration) -> Self {
        let now = Instant::now();
        Self(self.0.checked_sub(reserve).map_or(now, |latest| latest.max(now)))
    }

    /// The deadline of one stage: at most `share` from now, and never later than `held_back` before
    /// `self`. With nothing left to give it is now (or `self`, if that has passed already).
    #[must_use]
    pub fn slice(self, share: Duration, held_back: Duration) -> Self {
        let now = Instant::now();
        let latest = self.reserving(held_back);
        let wanted = Self(now.checked_add(share).unwrap_or(latest.0));
        wanted.earlier(latest).earlier(self)
    }

    /// The earlier of two deadlines.
    #[must_use]
    pub fn earlier(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// Runs `work` until it finishes or the deadline passes, whichever is first.
    ///
    /// `work` is the *whole* exchange, body included. Work that is ready at once succeeds even under a
    /// deadline already past: an answer in hand is never thrown away.
    ///
    /// # Cancel safety
    ///
    /// Cancelling drops `work`.
    ///
    /// # Errors
    ///
    /// [`OutOfTime`] when the deadline passed first; `work` has then been dropped.
    pub async fn run<F: Future>(self, work: F) -> Result<F::Output, OutOfTime> {
        tokio::time::timeout_at(self.0, work).await.map_err(|_elapsed| OutOfTime)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::time::{advance, sleep};

    use super::*;

    /// Runs `test` on a clock that moves only when told to.
    fn paused<F: Future>(test: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O always builds")
            .block_on(test)
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[track_caller]
    fn check(budget_ms: u64, work_ms: u64, delivered: bool) {
        let outcome =
            paused(async { Deadline::after(ms(budget_ms)).run(sleep(ms(work_ms))).await });
        assert_eq!(outcome.is_ok(), delivered);
    }

    #[test]
    fn work_within_budget_is_delivered() {
        check(100, 99, true);
    }

    #[test]
    fn work_over_budget_is_cut_off() {
        check(100, 102, false);
    }

    #[test]
    fn an_answer_in_hand_is_kept_under_a_past_deadline() {
        let outcome = paused(async {
            let deadline = Deadline::after(ms(5));
            advance(ms(50)).await;
            deadline.run(std::future::ready(7)).await
        });
        assert_eq!(outcome, Ok(7));
    }

    #[test]
    fn a_budget_beyond_every_clock_is_cut_rather_than_overflowing() {
        paused(async {
            assert_eq!(Deadline::after(Duration::MAX).remaining(), LONGEST_BUDGET);
        });
    }

    proptest! {
        #[test]
        fn a_slice_never_eats_what_is_held_back(
            budget in 0_u64..100_000, spent in 0_u64..100_000, share in any::<u64>(), held in 0_u64..200_000,
        ) {
            paused(async {
                let deadline = Deadline::after(ms(budget));
                advance(ms(spent)).await;
                let slice = deadline.slice(ms(share), ms(held));
                let left_after = deadline.remaining_at(slice.instant());
                // Either everything held back is still there, or the slice is empty.
                prop_assert!(left_after >= ms(held) || slice.remaining() == Duration::ZERO);
                prop_assert!(slice <= deadline);
                prop_assert!(slice.remaining() <= ms(share));
                Ok(())
            })?;
        }

        #[test]
        fn what_remains_never_grows(budget in 0_u64..100_000, steps in prop::collection::vec(0_u64..5_000, 1..20)) {
            paused(async {
                let deadline = Deadline::after(ms(budget));
                let mut before = deadline.remaining();
                for step in steps {
                    advance(ms(step)).await;
                    let now = deadline.remaining();
                    prop_assert!(now <= before);
                    before = now;
                }
                Ok(())
            })?;
        }

        #[test]
        fn the_least_of_many_wins_in_any_order(budgets in prop::collection::vec(0_u64..100_000, 1..10)) {
            paused(async {
                let least = budgets.iter().copied().min().unwrap_or_default();
                let combined = budgets
                    .iter()
                    .map(|budget| Deadline::after(ms(*budget)))
                    .reduce(Deadline::earlier)
                    .expect("at least one budget");
                prop_assert_eq!(combined, Deadline::after(ms(least)));
                Ok(())
            })?;
        }
    }
}
