//! [`Breaker`]: the rules by which calls go through or not.

use std::time::Duration;

use tokio::time::Instant;

use super::window::Window;
use super::{BreakerCause, BreakerState, Outcome};

/// Between two probes of an upstream that failed. One that works is followed at once.
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// Probes that must work before all calls go through again.
const PROBES_TO_CLOSE: u32 = 3;

/// How long a wrong key or a used-up allowance is believed without asking again.
const HARD_PAUSE: Duration = Duration::from_secs(60);

/// The longest that a far side's wish to be left alone is heeded before asking again.
const LONGEST_WISH: Duration = Duration::from_secs(30);

/// Whether calls go through, and what it takes to change that.
#[derive(Clone, Debug)]
pub(crate) struct Breaker {
    phase: Phase,
    /// Until when the far side asked to be left alone.
    asked_until: Instant,
    /// Counts phases, so that a call is judged in the phase it was let through in.
    number: u64,
}

#[derive(Clone, Debug)]
enum Phase {
    Closed(Window),
    Open(Open),
}

#[derive(Clone, Debug)]
struct Open {
    cause: BreakerCause,
    next_probe: Instant,
    /// Probes that must still work.
    wanted: u32,
    /// Of probes let through before then it is known better already.
    known_since: Instant,
}

/// How a call was let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    number: u64,
    /// When it was let through as a probe.
    probe: Option<Instant>,
}

/// A call that is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) cause: BreakerCause,
    /// When it may be worth asking again.
    pub(crate) again_in: Duration,
}

/// A change to be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Also when a probe finds a hard cause unchanged.
    Opened(BreakerCause),
    Closed,
}

impl Breaker {
    pub(crate) fn new(now: Instant) -> Self {
        Self { phase: Phase::Closed(Window::new(now)), asked_until: now, number: 0 }
    }

    pub(crate) fn state(&self) -> BreakerState {
        match &self.phase {
            Phase::Closed(_) => BreakerState::Closed,
            Phase::Open(open) => BreakerState::Open(open.cause),
        }
    }

    /// Lets a call through, perhaps as a probe.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<Pass, Refusal> {
        let number = self.number;
        let open = match &mut self.phase {
            Phase::Closed(_) => return Ok(Pass { number, probe: None }),
            Phase::Open(open) => open,
        };
        if now < open.next_probe {
            let again_in = open.next_probe.saturating_duration_since(now);
            return Err(Refusal { cause: open.cause, again_in });
        }
        // Not only once that one has ended: it may hang for as long as its deadline lets it.
        open.next_probe = now + PROBE_EVERY;
        Ok(Pass { number, probe: Some(now) })
    }

    /// The pass of a call that is made though it should not be; its end says nothing.
    pub(crate) fn beside(&self) -> Pass {
        Pass { number: self.number, probe: None }
    }

    /// Takes note of how a call ended.
    pub(crate) fn conclude(
        &mut self,
        pass: Pass,
        outcome: Outcome,
        now: Instant,
    ) -> Option<Change> {
        if let Outcome::Failed { asked: Some(wish) } = outcome {
            self.heed(now + wish.min(LONGEST_WISH));
        }
        match (&self.phase, pass.probe) {
            (Phase::Closed(_), _) => self.conclude_closed(pass, outcome, now),
            (Phase::Open(open), Some(since)) if pass.number == self.number => {
                let news = since >= open.known_since;
                news.then(|| self.conclude_probe(outcome, now)).flatten()
            }
            // Calls from before it opened end in their time, and change nothing else.
            (Phase::Open(_), _) => None,
        }
    }

    /// The next probe waits until then.
    fn heed(&mut self, asked_until: Instant) {
        self.asked_until = self.asked_until.max(asked_until);
        if let Phase::Open(open) = &mut self.phase {
            open.next_probe = open.next_probe.max(self.asked_until);
        }
    }

    fn conclude_closed(&mut self, pass: Pass, outcome: Outcome, now: Instant) -> Option<Change> {
        let Phase::Closed(window) = &mut self.phase else { return None };
        match outcome {
            Outcome::BadKey => Some(self.open(BreakerCause::BadKey, now)),
            Outcome::Quota => Some(self.open(BreakerCause::Quota, now)),
            Outcome::Unknown => None,
            // Let through before or while it was open.
            Outcome::Worked | Outcome::Failed { .. } if pass.number != self.number => None,
            Outcome::Worked | Outcome::Failed { .. } => {
                window.add(outcome != Outcome::Worked, now);
                window.is_bad().then(|| self.open(BreakerCause::Failures, now))
            }
        }
    }

    fn conclude_probe(&mut self, outcome: Outcome, now: Instant) -> Option<Change> {
        match outcome {
            Outcome::BadKey => Some(self.open(BreakerCause::BadKey, now)),
            Outcome::Quota => Some(self.open(BreakerCause::Quota, now)),
            Outcome::Failed { .. } => self.probe_failed(now),
            Outcome::Worked => self.probe_worked(now),
            // The next one's time comes.
            Outcome::Unknown => None,
        }
    }

    fn open(&mut self, cause: BreakerCause, now: Instant) -> Change {
        let (pause, wanted) = match cause {
            BreakerCause::Failures => (PROBE_EVERY, PROBES_TO_CLOSE),
            BreakerCause::BadKey | BreakerCause::Quota => (HARD_PAUSE, 1),
        };
        let next_probe = (now + pause).max(self.asked_until);
        self.number += 1;
        self.phase = Phase::Open(Open { cause, next_probe, wanted, known_since: now });
        Change::Opened(cause)
    }

    /// A key that is right now, or a quota that is back, may meet failures like any other.
    fn probe_failed(&mut self, now: Instant) -> Option<Change> {
        let Phase::Open(open) = &mut self.phase else { return None };
        if open.cause != BreakerCause::Failures {
            return Some(self.open(BreakerCause::Failures, now));
        }
        open.wanted = PROBES_TO_CLOSE;
        None
    }

    fn probe_worked(&mut self, now: Instant) -> Option<Change> {
        let Phase::Open(open) = &mut self.phase else { return None };
        open.wanted = open.wanted.saturating_sub(1);
        if open.wanted > 0 {
            open.known_since = now;
            open.next_probe = now.max(self.asked_until);
            return None;
        }
        self.number += 1;
        self.phase = Phase::Closed(Window::new(now));
        Some(Change::Closed)
    }
}
