//! [`Calibrations`]: the shares of a running server, which follow what has been applied.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use domain::{AppName, Causes};
use ledger::calibration::{Applied, Values, WrongSpeed, hour_of, newest};
use ledger::reports::Source;
use pipeline::Models;
use search::Generation;
use server::{Allotted, Shares};
use thiserror::Error;
use tokio::time::sleep;

use super::speeds::{ByHour, Expected};
use crate::config::{ConfiguredShares, Kind};

/// A first token is waited for at least so long, or to the end.
const LEAST_PATIENCE_MS: u64 = 50;

/// What is configured, and what has been calibrated over it. Requests see one or the other whole.
#[derive(Debug)]
pub(crate) struct Calibrations {
    configured: ConfiguredShares,
    expected: Expected,
    in_force: RwLock<Arc<BTreeMap<AppName, Arc<InForce>>>>,
    /// Numbers that were refused, so that each is complained of once.
    refused: Mutex<BTreeSet<u64>>,
}

#[derive(Debug)]
struct InForce {
    number: u64,
    values: Values,
    speeds: ByHour,
}

/// A stored calibration that cannot be used.
#[derive(Debug, Error)]
pub(super) enum Nonsense {
    #[error("it is no calibration")]
    Shape(#[from] serde_json::Error),
    #[error("{0:?} is no app's name")]
    App(String),
    #[error("its shares do not fit")]
    DoesNotFit(#[from] deadline::AllotmentError),
    #[error("{what} is {ms} ms; it must lie between {least} and {most} ms")]
    OutOfRange { what: &'static str, ms: u64, least: u64, most: u64 },
    #[error(transparent)]
    Speed(#[from] WrongSpeed),
}

/// Reads and checks what is stored against what is configured.
pub(super) fn read(
    configured: &ConfiguredShares,
    applied: &Applied,
) -> Result<(AppName, Values), Nonsense> {
    let values: Values = serde_json::from_str(&applied.calibrated)?;
    let app: AppName = applied.app.parse().map_err(|_| Nonsense::App(applied.app.clone()))?;
    for kind in Kind::ALL {
        let shares = configured.calibrated(&app, kind, &values)?;
        let total = u64::try_from(shares.total().as_millis()).unwrap_or(u64::MAX);
        check_ranges(&values, total)?;
    }
    Ok((app, values))
}

fn check_ranges(values: &Values, total: u64) -> Result<(), Nonsense> {
    let within = |what, ms, least| {
        let is_sane = (least..=total).contains(&ms);
        if is_sane { Ok(()) } else { Err(Nonsense::OutOfRange { what, ms, least, most: total }) }
    };
    let minimums = values.minimums;
    for (what, ms) in [
        ("the minimum of embed", minimums.embed_ms),
        ("the minimum of vector", minimums.vector_ms),
        ("the minimum of generate", minimums.generate_ms),
    ] {
        ms.map_or(Ok(()), |ms| within(what, ms, 1))?;
    }
    within("the retrieval cut-off", values.retrieval_cutoff_ms, 1)?;
    match values.first_token_cutoff_ms {
        0 => {}
        ms => within("the first-token cut-off", ms, LEAST_PATIENCE_MS.min(total))?,
    }
    Ok(values.speeds.iter().try_for_each(|speed| speed.check(total))?)
}

impl Calibrations {
    /// What is configured, for now; `models` are those that write.
    pub(crate) fn new(configured: ConfiguredShares, models: Option<&Models>) -> Self {
        let expected = Expected::of(models);
        Self { configured, expected, in_force: RwLock::default(), refused: Mutex::default() }
    }

    /// Takes up what is applied, for as long as the server runs.
    pub(crate) async fn follow(&self, source: &Source, every: Duration) -> Infallible {
        let mut failures = 0_u32;
        loop {
            match newest(source).await {
                Ok(newest) => {
                    failures = 0;
                    self.take_up(&newest);
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    // A database that is just being set up is no trouble, and trouble is told of once.
                    if failures == 2 {
                        let error = Causes(&error);
                        tracing::warn!(%error, "cannot look for calibrations; the last one stays");
                    }
                }
            }
            sleep(every).await;
        }
    }

    /// Takes up the newest of each app that is sound; `newest` comes newest first.
    fn take_up(&self, newest: &[Applied]) {
        let mut settled: BTreeSet<&str> = BTreeSet::new();
        for applied in newest {
            if settled.contains(applied.app.as_str()) || self.refused().contains(&applied.number) {
                continue;
            }
            if self.runs_under(applied) {
                settled.insert(&applied.app);
                continue;
            }
            match read(&self.configured, applied) {
                Ok((app, values)) => {
                    self.put_in_force(app, applied.number, values);
                    settled.insert(&applied.app);
                }
                Err(nonsense) => self.refuse(applied, &nonsense),
            }
        }
    }

    fn runs_under(&self, applied: &Applied) -> bool {
        let in_force = self.in_force();
        let mut of_app = in_force.iter().filter(|(app, _)| app.as_str() == applied.app);
        of_app.any(|(_, known)| known.number == applied.number)
    }

    fn refuse(&self, applied: &Applied, nonsense: &Nonsense) {
        let (app, calibration) = (&applied.app, applied.number);
        let error = Causes(nonsense);
        tracing::warn!(app, calibration, %error, "calibration refused; the old one stays");
        self.refused().insert(calibration);
    }

    fn put_in_force(&self, app: AppName, number: u64, values: Values) {
        tracing::info!(%app, calibration = number, "calibration taken up");
        let speeds = self.expected.measured(&values.speeds);
        let mut all = BTreeMap::clone(&self.in_force());
        all.insert(app, Arc::new(InForce { number, values, speeds }));
        *self.in_force.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(all);
    }

    fn in_force(&self) -> Arc<BTreeMap<AppName, Arc<InForce>>> {
        Arc::clone(&self.in_force.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn refused(&self) -> std::sync::MutexGuard<'_, BTreeSet<u64>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a request runs under from its first decision to its last.
    fn allotted(&self, app: &AppName, kind: Kind, received: SystemTime) -> Allotted {
        let in_force = self.in_force();
        let calibrated = in_force.get(app).and_then(|known| {
            let allotment = self.configured.calibrated(app, kind, &known.values).ok()?;
            let measured = known.speeds.at(hour_of(received));
            Some(Allotted { allotment, measured, calibration: known.number })
        });
        calibrated.unwrap_or_else(|| Allotted::configured(self.configured.of_app(Some(app), kind)))
    }
}

impl Shares for Calibrations {
    fn allotted(&self, app: &AppName, generation: &Generation, received: SystemTime) -> Allotted {
        self.allotted(app, self.configured.kind(generation), received)
    }

    fn longest(&self) -> Duration {
        self.configured.longest()
    }
}

#[cfg(test)]
mod tests;
