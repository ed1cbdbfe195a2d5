//! [`Watch`]: looks at every call of one upstream, from its start to its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{Causes, Fault, FaultKind};
use tokio::time::Instant;

use crate::breaker::{Breaker, Change, Outcome, Pass, Refusal};
use crate::{
    BreakerCause, BreakerMode, BreakerSettings, BreakerState, Counts, ErrorKind, UpstreamError,
};

/// Breaker and accounts of one upstream.
#[derive(Debug)]
pub(crate) struct Watch {
    name: String,
    settings: BreakerSettings,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    breaker: Breaker,
    counts: Counts,
    silence: Silence,
}

/// Since when no call under way has heard anything.
#[derive(Debug)]
struct Silence {
    under_way: usize,
    since: Instant,
}

/// One call under way. Dropping it is giving the call up.
#[derive(Debug)]
pub(crate) struct Ticket {
    watch: Arc<Watch>,
    pass: Pass,
    started: Instant,
    heard: bool,
    over: bool,
}

impl Watch {
    pub(crate) fn new(name: &str, settings: BreakerSettings) -> Self {
        let now = Instant::now();
        let silence = Silence { under_way: 0, since: now };
        let seen = Seen { breaker: Breaker::new(now), counts: Counts::default(), silence };
        Self { name: name.to_owned(), settings, seen: Mutex::new(seen) }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn breaker_state(&self) -> BreakerState {
        self.seen().breaker.state()
    }

    pub(crate) fn counts(&self) -> Counts {
        self.seen().counts.clone()
    }

    /// Lets a call start, or says why not.
    pub(crate) fn admit(self: &Arc<Self>) -> Result<Ticket, Fault> {
        let now = Instant::now();
        let mut seen = self.seen();
        let pass = match seen.breaker.admit(now) {
            Ok(pass) => pass,
            Err(refusal) if self.settings.mode == BreakerMode::Enforce => {
                seen.counts.refused += 1;
                return Err(refused(refusal));
            }
            Err(_would_refuse) => seen.breaker.beside(),
        };
        seen.counts.calls += 1;
        seen.silence.call_starts(now);
        drop(seen);
        Ok(Ticket { watch: Arc::clone(self), pass, started: now, heard: false, over: false })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // No panic can leave the sums half-written.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self, change: Change, fault: Option<&Fault>) {
        let error = fault.map(|fault| tracing::field::display(Causes(fault)));
        let enforced = self.settings.mode == BreakerMode::Enforce;
        match change {
            Change::Opened(cause) if enforced => tracing::warn!(
                upstream.name = self.name,
                breaker.cause = cause.as_str(),
                error,
                "calls to an upstream are refused for now"
            ),
            Change::Opened(cause) => tracing::warn!(
                upstream.name = self.name,
                breaker.cause = cause.as_str(),
                error,
                "calls to an upstream would be refused for now"
            ),
            Change::Closed if enforced => {
                tracing::info!(upstream.name = self.name, "an upstream is called again");
            }
            Change::Closed => {
                tracing::info!(upstream.name = self.name, "an upstream would be called again");
            }
        }
    }
}

/// What a refused call ends with: the truth about a hard cause, and else that we did not ask.
fn refused(refusal: Refusal) -> Fault {
    let error = |kind, message| UpstreamError::new(kind, None, message);
    match refusal.cause {
        BreakerCause::Failures => {
            let error = error(ErrorKind::BreakerOpen, "it failed too often; not called for now");
            Fault::new(FaultKind::BreakerOpen, error).passing(refusal.again_in)
        }
        BreakerCause::BadKey => {
            let error = error(ErrorKind::BadKey, "it did not accept the key; not called for now");
            Fault::new(FaultKind::Error, error)
        }
        BreakerCause::Quota => {
            let error = error(ErrorKind::Quota, "the allowance is used up; not called for now");
            Fault::new(FaultKind::Quota, error)
        }
    }
}

impl Silence {
    fn call_starts(&mut self, now: Instant) {
        if self.under_way == 0 {
            self.since = now;
        }
        self.under_way += 1;
    }

    fn call_ends(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    fn lasted(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }
}

impl Ticket {
    /// Some of the reply's body has come.
    pub(crate) fn heard(&mut self) {
        self.heard = true;
        self.watch.seen().silence.since = Instant::now();
    }

    pub(crate) fn succeeded(mut self) {
        self.end(Outcome::Worked, None, |counts| counts.succeeded += 1);
    }

    pub(crate) fn failed(mut self, fault: &Fault) {
        let outcome = Outcome::of(fault, self.hangs(Instant::now()));
        self.end(outcome, Some(fault), |counts| counts.count_failed(fault.kind()));
    }

    /// [`failed`](Self::failed), handing `fault` on.
    pub(crate) fn failed_with(self, fault: Fault) -> Fault {
        self.failed(&fault);
        fault
    }

    /// Whether the far side has kept this call, or all calls, waiting for longer than is fair.
    fn hangs(&self, now: Instant) -> bool {
        let fair = self.watch.settings.fair_wait;
        let waited = now.saturating_duration_since(self.started);
        !self.heard && (waited >= fair || self.watch.seen().silence.lasted(now) >= fair)
    }

    fn end(&mut self, outcome: Outcome, fault: Option<&Fault>, count: impl FnOnce(&mut Counts)) {
        self.over = true;
        let mut seen = self.watch.seen();
        count(&mut seen.counts);
        seen.silence.call_ends();
        let change = match self.watch.settings.mode {
            BreakerMode::Off => None,
            BreakerMode::Observe | BreakerMode::Enforce => {
                seen.breaker.conclude(self.pass, outcome, Instant::now())
            }
        };
        drop(seen);
        if let Some(change) = change {
            self.watch.log(change, fault);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.over {
            let outcome = Outcome::of_waiting(self.hangs(Instant::now()));
            self.end(outcome, None, |counts| counts.abandoned += 1);
        }
    }
}
