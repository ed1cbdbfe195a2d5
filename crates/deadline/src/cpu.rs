//! Work that keeps a core busy and so cannot be interrupted by a timer.
//!
//! Index searches, the local model and vector scans would stall every other request if they ran on the
//! runtime's own threads. They run on blocking threads instead, no more at once than there are cores,
//! and look at a [`CancelFlag`] every couple of milliseconds so that abandoned work stops burning a core.

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::Semaphore;

use crate::{Deadline, OutOfTime};

/// A bound on how much CPU work runs at once. Cheap to clone; clones share the bound.
///
/// `spawn_blocking` and not a pool of our own: running blocking work also holds a paused test clock, so
/// deadline tests around real searches are exact.
#[derive(Clone, Debug)]
pub struct CpuPool {
    permits: Arc<Semaphore>,
}

/// Work this short may be done on a thread of the runtime: it is what a timer may be late anyway.
pub const BRIEF: Duration = Duration::from_micros(500);

/// Raised when nobody waits for the work's result any more.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Whether the work should stop.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Tells the work to stop at its next look.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Why CPU work gave no result.
#[derive(Debug, Error)]
pub enum Interrupted {
    /// The deadline passed, while waiting for a core or while working.
    #[error(transparent)]
    OutOfTime(#[from] OutOfTime),
    /// The work panicked; the message is the panic's, for the log.
    #[error("the work panicked: {0}")]
    Panicked(String),
}

/// Raises the flag when the waiting future is dropped, so that a deadline reaches the blocking thread.
struct RaiseOnDrop(CancelFlag);

impl Drop for RaiseOnDrop {
    fn drop(&mut self) {
        self.0.raise();
    }
}

impl CpuPool {
    /// A pool that runs at most `permits` pieces of work at once.
    #[must_use]
    pub fn new(permits: NonZeroUsize) -> Self {
        Self { permits: Arc::new(Semaphore::new(permits.get())) }
    }

    /// A pool with one permit per core that this process may use.
    #[must_use]
    pub fn per_core() -> Self {
        Self::new(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }

    /// Runs `work` on a blocking thread. Waiting for a core counts against `deadline` like the work.
    ///
    /// The permit is given back when the thread ends, not when the caller stops waiting: the bound is on
    /// cores in use. Work is expected to look at the flag at least every 2 ms and to return early.
    ///
    /// # Errors
    ///
    /// [`Interrupted::OutOfTime`] when the deadline passed first, [`Interrupted::Panicked`] when `work`
    /// panicked.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future raises the flag.
    pub async fn run<T, W>(&self, deadline: Deadline, work: W) -> Result<T, Interrupted>
    where
        T: Send + 'static,
        W: FnOnce(&CancelFlag) -> T + Send + 'static,
    {
        let flag = CancelFlag::default();
        let _guard = RaiseOnDrop(flag.clone());
        let joined = deadline
            .run(async {
                let permit = Arc::clone(&self.permits).acquire_owned().await;
                let permit = permit.expect("the pool never closes its semaphore");
                tokio::task::spawn_blocking(move || {
                    let _held_until_the_thread_ends = permit;
                    work(&flag)
                })
                .await
            })
            .await?;
        joined.map_err(|error| Interrupted::Panicked(error.to_string()))
    }

    /// Runs `work` that takes less than [`BRIEF`]: here and now, if a core is free, because handing it to another
    /// thread would take longer than the work; otherwise as [`run`](Self::run) does.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    ///
    /// # Cancel safety
    ///
    /// That of [`run`](Self::run); work done here is over before it could be dropped.
    pub async fn run_brief<T, W>(&self, deadline: Deadline, work: W) -> Result<T, Interrupted>
    where
        T: Send + 'static,
        W: FnOnce(&CancelFlag) -> T + Send + 'static,
    {
        let Ok(_held) = self.permits.try_acquire() else {
            return self.run(deadline, work).await;
        };
        if deadline.remaining().is_zero() {
            return Err(OutOfTime.into());
        }
        // What a panic leaves behind is dropped with the work.
        catch_unwind(AssertUnwindSafe(|| work(&CancelFlag::default())))
            .map_err(|panic| Interrupted::Panicked(message_of(panic.as_ref())))
    }

    /// Takes one permit out of service until the guard is dropped; tests use it to make a stage wait.
    ///
    /// # Errors
    ///
    /// [`OutOfTime`] when no permit came free by `deadline`.
    pub async fn occupy(&self, deadline: Deadline) -> Result<Occupied, OutOfTime> {
        let permit = deadline.run(Arc::clone(&self.permits).acquire_owned()).await?;
        Ok(Occupied { _permit: permit.expect("the pool never closes its semaphore") })
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

/// A permit taken by [`CpuPool::occupy`].
#[derive(Debug)]
pub struct Occupied {
    _permit: tokio::sync::OwnedSemaphorePermit,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> CpuPool {
        CpuPool::new(NonZeroUsize::MIN)
    }

    #[tokio::test(start_paused = true)]
    async fn work_gives_its_result() {
        let deadline = Deadline::after(Duration::from_secs(1));
        assert_eq!(one().run(deadline, |_| 6 * 7).await.unwrap(), 42);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_core_counts_as_stage_time() {
        let pool = one();
        let held = pool.occupy(Deadline::after(Duration::from_secs(1))).await.unwrap();
        let outcome = pool.run(Deadline::after(Duration::from_millis(20)), |_| ()).await;
        assert!(matches!(outcome, Err(Interrupted::OutOfTime(_))));
        drop(held);
        assert!(pool.run(Deadline::after(Duration::from_millis(20)), |_| ()).await.is_ok());
    }

    #[tokio::test]
    async fn abandoned_work_sees_the_flag_and_frees_its_core() {
        let pool = one();
        let spin = pool.run(Deadline::after(Duration::from_millis(5)), |flag| {
            while !flag.is_raised() {
                std::hint::spin_loop();
            }
        });
        assert!(matches!(spin.await, Err(Interrupted::OutOfTime(_))));
        // Without the flag the only permit would never come back.
        let next = pool.run(Deadline::after(Duration::from_secs(20)), |_| ()).await;
        assert!(next.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_a_value_and_frees_its_core() {
        let pool = one();
        let deadline = Deadline::after(Duration::from_secs(1));
        let outcome = pool.run(deadline, |_| -> () { panic!("broken") }).await;
        assert!(matches!(outcome, Err(Interrupted::Panicked(_))));
        assert!(pool.run(deadline, |_| ()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn brief_work_is_done_on_the_spot_unless_every_core_is_taken() {
        let pool = CpuPool::new(NonZeroUsize::MIN);
        let second = Deadline::after(Duration::from_secs(1));
        let thread = || std::thread::current().id();
        assert_eq!(pool.run_brief(second, move |_| thread()).await.unwrap(), thread());
        let held = pool.occupy(second).await.unwrap();
        let late = pool.run_brief(Deadline::after(Duration::from_millis(5)), |_| ()).await;
        assert!(matches!(late, Err(Interrupted::OutOfTime(_))));
        drop(held);
        let panicked = pool.run_brief(second, |_| -> () { panic!("broken") }).await;
        assert!(matches!(panicked, Err(Interrupted::Panicked(message)) if message == "broken"));
        let past = pool.run_brief(Deadline::after(Duration::ZERO), |_| ()).await;
        assert!(matches!(past, Err(Interrupted::OutOfTime(_))));
    }
}
