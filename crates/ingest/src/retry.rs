//! Embedding with patience: an index of a thousand pages outlasts many a rate limit.

use std::time::Duration;

use deadline::Deadline;
use domain::{Call, Embedder, Fault, FaultKind, Role, Vector};
use tokio::time::sleep;

/// How long one call may take; a batch is seconds for the slowest local model on a busy machine.
const CALL_LIMIT: Duration = Duration::from_secs(60);

/// Calls for one batch, the first included. Their pauses add up to about a minute, beyond what the far side asks
/// for.
const MOST_CALLS: u32 = 10;

/// Pauses are drawn between nothing and a bound that doubles from the first to the longest, so that calls which
/// failed together do not come back together.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The longest that the far side's wish to be left alone is granted. Who wants more is not back today, and
/// whoever started the run should know.
const LONGEST_WISH: Duration = Duration::from_secs(300);

/// The vectors of `batch`; faults that pass are waited out.
///
/// # Errors
///
/// The [`Fault`] of the last call.
pub(crate) async fn embed_patiently(
    embedder: &dyn Embedder,
    batch: &[String],
) -> Result<Vec<Vector>, Fault> {
    let mut attempt = 1;
    loop {
        let deadline = Deadline::after(CALL_LIMIT);
        let call = Call { attempt, ..Call::background("index", deadline) };
        let fault = match embedder.embed(batch, Role::Passage, &call).await {
            Ok(vectors) => return Ok(vectors),
            Err(fault) => fault,
        };
        let Some(wish) = wish(&fault).filter(|_| attempt < MOST_CALLS) else {
            return Err(fault);
        };
        sleep(wish + pause(attempt)).await;
        attempt += 1;
    }
}

/// How long to wait at least; `None` if there is no point in it.
fn wish(fault: &Fault) -> Option<Duration> {
    let wish = match fault.kind() {
        // Nobody else waits, so a call that hung is simply tried again.
        FaultKind::Timeout => Some(Duration::ZERO),
        FaultKind::Error
        | FaultKind::RateLimited
        | FaultKind::BreakerOpen
        | FaultKind::Blocked
        | FaultKind::ThinkingExhausted
        | FaultKind::Quota
        | FaultKind::Overloaded
        | FaultKind::Unavailable => fault.retry_after(),
    };
    wish.filter(|wish| *wish <= LONGEST_WISH)
}

/// A pause after the given call, anywhere up to its bound.
fn pause(attempt: u32) -> Duration {
    longest_pause(attempt).mul_f64(fastrand::f64())
}

fn longest_pause(attempt: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
    FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use domain::EmbedderId;
    use tokio::time::Instant;

    use super::*;

    /// Fails as often as it is told, in the way it is told, and notes the calls.
    #[derive(Debug)]
    struct Scripted {
        id: EmbedderId,
        failures: u32,
        fault: fn() -> Fault,
        attempts: Mutex<Vec<u32>>,
    }

    impl Scripted {
        fn new(failures: u32, fault: fn() -> Fault) -> Self {
            let id = EmbedderId { name: "scripted".to_owned(), dimensions: 1 };
            Self { id, failures, fault, attempts: Mutex::default() }
        }

        fn attempts(&self) -> Vec<u32> {
            self.attempts.lock().unwrap().clone()
        }
    }

    #[async_trait]
    impl Embedder for Scripted {
        fn id(&self) -> &EmbedderId {
            &self.id
        }

        fn covers(&self, _text: &str) -> bool {
            true
        }

        async fn embed(
            &self,
            texts: &[String],
            _role: Role,
            call: &Call,
        ) -> Result<Vec<Vector>, Fault> {
            self.attempts.lock().unwrap().push(call.attempt);
            if call.attempt <= self.failures {
                return Err((self.fault)());
            }
            Ok(texts.iter().map(|_| Vector::from_unit(vec![1.0]).unwrap()).collect())
        }
    }

    /// Whether it succeeds, after which calls, and how long that takes.
    async fn outcome(failures: u32, fault: fn() -> Fault) -> (bool, Vec<u32>, Duration) {
        let embedder = Scripted::new(failures, fault);
        let started = Instant::now();
        let embedded = embed_patiently(&embedder, &["text".to_owned()]).await;
        (embedded.is_ok(), embedder.attempts(), started.elapsed())
    }

    fn rate_limited() -> Fault {
        Fault::new(FaultKind::RateLimited, "slow down").passing(Duration::from_secs(36))
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_limit_is_waited_out_as_long_as_it_asks() {
        let (succeeded, attempts, took) = outcome(2, rate_limited).await;
        assert_eq!((succeeded, attempts), (true, vec![1, 2, 3]));
        let least = Duration::from_secs(72);
        let most = least + longest_pause(1) + longest_pause(2) + Duration::from_millis(4);
        assert!((least..most).contains(&took), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_pass_is_not_tried_again() {
        for fault in [
            || Fault::new(FaultKind::Error, "no such model"),
            || Fault::new(FaultKind::Quota, "no more today"),
            || Fault::new(FaultKind::RateLimited, "m").passing(Duration::from_secs(3600)),
        ] {
            assert_eq!(outcome(1, fault).await, (false, vec![1], Duration::ZERO));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends() {
        let failing = || Fault::new(FaultKind::Error, "busy").passing(Duration::ZERO);
        let (succeeded, attempts, took) = outcome(u32::MAX, failing).await;
        assert_eq!((succeeded, attempts), (false, (1..=MOST_CALLS).collect()));
        assert!(took < LONGEST_PAUSE * MOST_CALLS, "{took:?}");
        let (succeeded, ..) = outcome(MOST_CALLS - 1, failing).await;
        assert!(succeeded);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_ran_out_of_time_is_tried_again() {
        let (succeeded, attempts, _) = outcome(1, || deadline::OutOfTime.into()).await;
        assert_eq!((succeeded, attempts), (true, vec![1, 2]));
    }

    #[test]
    fn pauses_grow_to_a_bound() {
        let bounds = [1, 2, 6, 7, 40].map(|attempt| longest_pause(attempt).as_millis());
        assert_eq!(bounds, [500, 1000, 16_000, 30_000, 30_000]);
    }
}
