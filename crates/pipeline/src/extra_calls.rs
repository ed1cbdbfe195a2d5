//! [`ExtraCalls`]: what calls beyond a request's first one may cost.

use std::sync::{Mutex, PoisonError};

use tokio::time::{Duration, Instant};

/// The budgets for extra calls of one upstream: retries share one, replacements of calls without a first
/// token have their own. Both are token buckets that every first call fills by a share of a token, so that
/// extra calls stay within that share of all calls however bad the day is.
#[derive(Debug)]
pub struct ExtraCalls {
    retries: Bucket,
    replacements: Bucket,
}

/// Extra calls that could be made now; parts of one are being saved up for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExtraCallsLeft {
    pub retries: f64,
    pub replacements: f64,
}

/// The share of first calls that may be retried: the usual limit for one layer of retries
/// (Google SRE book, "Handling Overload").
const RETRY_SHARE: f64 = 0.1;
/// The share of first calls that may be replaced. In the field profile an eighth is; more than that is an
/// upstream having a bad day, which more calls would make worse.
const REPLACEMENT_SHARE: f64 = 0.15;
/// What a bucket holds at most: bursts of slow calls come and go without emptying it.
const RETRY_CAPACITY: f64 = 10.0;
const REPLACEMENT_CAPACITY: f64 = 20.0;
/// A bucket that nobody fills gains a token in this time, so that on a quiet day, when extra calls cost nobody
/// anything, they are not refused for lack of traffic.
const TRICKLE: Duration = Duration::from_secs(15);

impl Default for ExtraCalls {
    fn default() -> Self {
        Self::new()
    }
}

impl ExtraCalls {
    /// Budgets that are half full.
    #[must_use]
    pub fn new() -> Self {
        Self {
            retries: Bucket::new(RETRY_SHARE, RETRY_CAPACITY),
            replacements: Bucket::new(REPLACEMENT_SHARE, REPLACEMENT_CAPACITY),
        }
    }

    /// What the budgets hold.
    #[must_use]
    pub fn left(&self) -> ExtraCallsLeft {
        let now = Instant::now();
        ExtraCallsLeft {
            retries: self.retries.tokens(now),
            replacements: self.replacements.tokens(now),
        }
    }

    /// Notes a request's first call.
    pub(crate) fn first_call(&self) {
        let now = Instant::now();
        self.retries.deposit(now);
        self.replacements.deposit(now);
    }

    pub(crate) fn would_retry(&self) -> bool {
        self.retries.holds_one(Instant::now())
    }

    pub(crate) fn would_replace(&self) -> bool {
        self.replacements.holds_one(Instant::now())
    }

    /// Pays for a retry, if it can.
    pub(crate) fn pay_retry(&self) -> bool {
        self.retries.withdraw(Instant::now())
    }

    /// Pays for a replacement, if it can.
    pub(crate) fn pay_replacement(&self) -> bool {
        self.replacements.withdraw(Instant::now())
    }
}

/// A token bucket filled by calls, and slowly by time.
#[derive(Debug)]
struct Bucket {
    share: f64,
    capacity: f64,
    level: Mutex<Level>,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    tokens: f64,
    at: Option<Instant>,
}

impl Bucket {
    fn new(share: f64, capacity: f64) -> Self {
        Self { share, capacity, level: Mutex::new(Level { tokens: capacity / 2.0, at: None }) }
    }

    fn deposit(&self, now: Instant) {
        self.change(now, |tokens| *tokens += self.share);
    }

    fn tokens(&self, now: Instant) -> f64 {
        self.change(now, |tokens| *tokens)
    }

    fn holds_one(&self, now: Instant) -> bool {
        self.change(now, |tokens| *tokens >= 1.0)
    }

    fn withdraw(&self, now: Instant) -> bool {
        self.change(now, |tokens| {
            let pays = *tokens >= 1.0;
            if pays {
                *tokens -= 1.0;
            }
            pays
        })
    }

    fn change<T>(&self, now: Instant, change: impl FnOnce(&mut f64) -> T) -> T {
        // A panic while holding the lock cannot leave two numbers half-written.
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let since = level.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        level.tokens += since.as_secs_f64() / TRICKLE.as_secs_f64();
        level.tokens = level.tokens.min(self.capacity);
        level.at = Some(now);
        let result = change(&mut level.tokens);
        level.tokens = level.tokens.min(self.capacity);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn extra_calls_stay_within_their_share_however_many_are_asked_for() {
        let extra = ExtraCalls::new();
        let (mut retries, mut replacements) = (0, 0);
        for _ in 0..10_000 {
            extra.first_call();
            retries += u32::from(extra.pay_retry());
            replacements += u32::from(extra.pay_replacement());
        }
        // A share of all calls, and what the half-full buckets held.
        assert!((1000..=1005).contains(&retries), "{retries}");
        assert!((1500..=1510).contains(&replacements), "{replacements}");
        assert!(!extra.would_retry() && !extra.would_replace());
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_day_pays_for_the_occasional_retry() {
        let extra = ExtraCalls::new();
        while extra.pay_retry() {}
        tokio::time::advance(TRICKLE).await;
        assert!(extra.would_retry());
        assert!(extra.pay_retry());
        assert!(!extra.pay_retry());
    }

    #[tokio::test(start_paused = true)]
    async fn a_good_day_does_not_save_up_for_a_storm() {
        let extra = ExtraCalls::new();
        (0..1000).for_each(|_| extra.first_call());
        let mut paid = 0;
        while extra.pay_retry() {
            paid += 1;
        }
        assert_eq!(paid, 10);
    }
}
