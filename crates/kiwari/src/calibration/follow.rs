//! [`Calibrations`]: the shares of a running server, which follow what has been applied.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use deadline::Allotment;
use domain::AppName;
use ledger::calibration::{Applied, Values, newest};
use ledger::reports::Source;
use search::Generation;
use server::{Allotted, Shares};
use thiserror::Error;
use tokio::time::sleep;

use crate::config::{ConfiguredShares, Kind};

/// A first token is waited for at least so long, or to the end.
const LEAST_PATIENCE_MS: u64 = 50;

/// What is configured, and what has been calibrated over it. Requests see one or the other whole.
#[derive(Debug)]
pub(crate) struct Calibrations {
    configured: ConfiguredShares,
    in_force: RwLock<Arc<BTreeMap<AppName, InForce>>>,
    /// Numbers that were refused, so that each is complained of once.
    refused: Mutex<BTreeSet<u64>>,
}

#[derive(Debug)]
struct InForce {
    number: u64,
    values: Values,
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
    Range { what: &'static str, ms: u64, least: u64, most: u64 },
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
        if is_sane { Ok(()) } else { Err(Nonsense::Range { what, ms, least, most: total }) }
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
        0 => Ok(()),
        ms => within("the first-token cut-off", ms, LEAST_PATIENCE_MS.min(total)),
    }
}

impl Calibrations {
    /// What is configured, for now.
    pub(crate) fn new(configured: ConfiguredShares) -> Self {
        Self { configured, in_force: RwLock::default(), refused: Mutex::default() }
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
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(error, "cannot look for calibrations; the last one stays");
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
        let error = nonsense as &dyn std::error::Error;
        tracing::warn!(app, calibration, error, "calibration refused; the old one stays");
        self.refused().insert(calibration);
    }

    fn put_in_force(&self, app: AppName, number: u64, values: Values) {
        tracing::info!(%app, calibration = number, "calibration taken up");
        let old = self.in_force();
        let others = old.iter().filter(|(other, _)| **other != app);
        let mut all: BTreeMap<AppName, InForce> = others
            .map(|(app, known)| {
                (app.clone(), InForce { number: known.number, values: known.values.clone() })
            })
            .collect();
        all.insert(app, InForce { number, values });
        *self.in_force.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(all);
    }

    fn in_force(&self) -> Arc<BTreeMap<AppName, InForce>> {
        Arc::clone(&self.in_force.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn refused(&self) -> std::sync::MutexGuard<'_, BTreeSet<u64>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allotted(&self, app: &AppName, kind: Kind) -> Allotted {
        let in_force = self.in_force();
        let calibrated = in_force.get(app).and_then(|known| {
            let allotment = self.configured.calibrated(app, kind, &known.values).ok()?;
            Some(Allotted { allotment, calibration: known.number })
        });
        let configured = || self.configured.of_app(Some(app), kind);
        calibrated.unwrap_or_else(|| Allotted { allotment: configured(), calibration: 0 })
    }
}

impl Shares for Calibrations {
    fn of(&self, app: &AppName, generation: &Generation) -> Allotment {
        self.allotted(app, self.configured.kind(generation)).allotment
    }

    fn allotted(&self, app: &AppName, generation: &Generation) -> Allotted {
        self.allotted(app, self.configured.kind(generation))
    }

    fn longest(&self) -> Duration {
        self.configured.longest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Sources, load};

    const REMOTE: Kind = Kind { remote_embedder: true, remote_vectors: true, writes: true };

    fn calibrations() -> Calibrations {
        Calibrations::new(load(&Sources::default()).unwrap().shares.with_model(true))
    }

    fn applied(number: u64, minimums: [u64; 3], cutoffs: [u64; 2]) -> Applied {
        let [embed, vector, generate] = minimums;
        let [retrieval, first_token] = cutoffs;
        let calibrated = format!(
            r#"{{"total_ms":4000,"minimums":{{"embed_ms":{embed},"vector_ms":{vector},"generate_ms":{generate}}},
                "retrieval_cutoff_ms":{retrieval},"first_token_cutoff_ms":{first_token},"of_later":1}}"#
        );
        Applied { number, app: "shop".to_owned(), calibrated }
    }

    fn of(calibrations: &Calibrations, app: &str) -> (u64, u128) {
        let allotted = calibrations.allotted(&app.parse().unwrap(), REMOTE);
        (allotted.calibration, allotted.allotment.minimums().embed.as_millis())
    }

    #[test]
    fn what_is_applied_goes_over_the_configuration_of_its_app_alone() {
        let calibrations = calibrations();
        assert_eq!(of(&calibrations, "shop"), (0, 700));
        calibrations.take_up(&[applied(3, [500, 600, 1000], [1800, 0])]);
        assert_eq!(of(&calibrations, "shop"), (3, 500));
        assert_eq!(of(&calibrations, "docs"), (0, 700));
        calibrations.take_up(&[applied(4, [450, 600, 1000], [1800, 900])]);
        assert_eq!(of(&calibrations, "shop"), (4, 450));
        // What runs in the process keeps its configured minimum.
        let local = Kind { remote_embedder: false, ..REMOTE };
        let allotted = calibrations.allotted(&"shop".parse().unwrap(), local);
        assert_eq!(allotted.allotment.minimums().embed.as_millis(), 5);
        assert_eq!(allotted.allotment.first_token_cutoff().as_millis(), 900);
    }

    #[test]
    fn nonsense_is_refused_and_the_old_one_stays() {
        let calibrations = calibrations();
        calibrations.take_up(&[applied(3, [500, 600, 1000], [1800, 1000])]);
        let broken = |calibrated: &str| Applied {
            number: 9,
            app: "shop".to_owned(),
            calibrated: calibrated.to_owned(),
        };
        for nonsense in [
            broken("{}"),
            broken("no JSON"),
            broken("[1, 2]"),
            applied(9, [2000, 2000, 2000], [1800, 1000]),
            applied(9, [u64::MAX, u64::MAX, u64::MAX], [1800, 1000]),
            applied(9, [0, 600, 900], [1800, 1000]),
            applied(9, [500, 600, 900], [0, 1000]),
            applied(9, [500, 600, 900], [4001, 1000]),
            applied(9, [500, 600, 900], [1800, 7]),
            Applied { app: "Not A Name".to_owned(), ..applied(9, [500, 600, 900], [1800, 900]) },
        ] {
            assert!(read(&calibrations.configured, &nonsense).is_err(), "{nonsense:?}");
            calibrations.take_up(std::slice::from_ref(&nonsense));
            assert_eq!(of(&calibrations, "shop"), (3, 500), "{nonsense:?}");
            // It is complained of once.
            assert!(calibrations.refused().remove(&9));
        }
        // A server that starts afterwards goes back to the last one that is sound.
        let later = self::calibrations();
        let newest = [broken("{}"), applied(4, [400, 600, 900], [1800, 1000])];
        later
            .take_up(&[newest, [applied(3, [500, 600, 900], [1800, 1000]), broken("{}")]].concat());
        assert_eq!(of(&later, "shop"), (4, 400));
    }
}
