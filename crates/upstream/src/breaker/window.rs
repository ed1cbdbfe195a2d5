//! [`Window`]: calls of the last seconds and how they ended.

use std::time::Duration;

use tokio::time::Instant;

/// What the breaker looks back on.
pub(super) const LOOKS_BACK: Duration = Duration::from_secs(5);

/// Fewer calls than this prove nothing.
const FEWEST_CALLS: u32 = 10;

const SLOTS: usize = 10;

/// Ends of calls in ten slots of half a second, so that its size does not depend on how many there are.
#[derive(Clone, Debug)]
pub(super) struct Window {
    slots: [Slot; SLOTS],
    /// The slot that is being filled, and when it began.
    current: usize,
    began: Instant,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    calls: u32,
    failures: u32,
}

impl Window {
    pub(super) fn new(now: Instant) -> Self {
        Self { slots: [Slot::default(); SLOTS], current: 0, began: now }
    }

    pub(super) fn add(&mut self, failed: bool, now: Instant) {
        self.advance(now);
        let slot = &mut self.slots[self.current];
        slot.calls = slot.calls.saturating_add(1);
        slot.failures = slot.failures.saturating_add(u32::from(failed));
    }

    /// Whether at least half of enough calls failed.
    pub(super) fn is_bad(&self) -> bool {
        let (calls, failures) =
            self.slots.iter().fold((0_u32, 0_u32), |(calls, failures), slot| {
                (calls.saturating_add(slot.calls), failures.saturating_add(slot.failures))
            });
        calls >= FEWEST_CALLS && failures >= calls.div_ceil(2)
    }

    /// Empties the slots that are too old by `now`.
    fn advance(&mut self, now: Instant) {
        if now.saturating_duration_since(self.began) >= LOOKS_BACK * 2 {
            *self = Self::new(now);
        }
        let width = LOOKS_BACK / u32::try_from(SLOTS).expect("ten fits");
        while now.saturating_duration_since(self.began) >= width {
            self.began += width;
            self.current = (self.current + 1) % SLOTS;
            self.slots[self.current] = Slot::default();
        }
    }
}
