//! [`Noise`]: how late this machine wakes threads at the moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::asking::now;

/// A thread that keeps going to sleep, and remembers how much too long it slept at most.
#[derive(Debug)]
pub(crate) struct Noise {
    most_us: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

/// What two processes and a busy scheduler cost anyway.
const LEAST: Duration = Duration::from_millis(50);

impl Noise {
    pub(crate) fn listen() -> Self {
        let (most_us, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (most, stop) = (Arc::clone(&most_us), Arc::clone(&over));
        let nap = Duration::from_millis(2);
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let before = now();
                crate::world::pause(nap);
                let late = before.elapsed().saturating_sub(nap);
                most.fetch_max(
                    u64::try_from(late.as_micros()).unwrap_or(u64::MAX),
                    Ordering::Relaxed,
                );
            }
        });
        Self { most_us, over }
    }

    /// The most so far.
    pub(crate) fn most(&self) -> Duration {
        LEAST + Duration::from_micros(self.most_us.load(Ordering::Relaxed))
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
