//! [`ConfiguredShares`]: how each app's time is shared out, as configured.

use std::collections::BTreeMap;
use std::time::Duration;

use deadline::{Allotment, Minimums};
use domain::AppName;
use ledger::calibration::Values;
use search::Generation;

use super::ConfigError;
use super::check::invalid;
use super::duration::{Share, Written};
use super::file::{Budget, File};

/// What of a request's stages is remote, and whether a model writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) remote_embedder: bool,
    pub(crate) remote_vectors: bool,
    pub(crate) writes: bool,
}

/// Every app's shares, for every kind of request.
#[derive(Clone, Debug)]
pub(crate) struct ConfiguredShares {
    default: Budget,
    apps: BTreeMap<AppName, Budget>,
    /// Whether a model writes answers.
    writes: bool,
}

/// The least that an automatic share is scaled down to.
const LEAST: Duration = Duration::from_millis(5);

impl Kind {
    /// All of it in this process, and no model.
    #[cfg(test)]
    pub(crate) const EMBEDDED: Self =
        Self { remote_embedder: false, remote_vectors: false, writes: false };
    /// Every kind there is.
    pub(crate) const ALL: [Self; 8] = [
        Self::of(false, false, false),
        Self::of(false, false, true),
        Self::of(false, true, false),
        Self::of(false, true, true),
        Self::of(true, false, false),
        Self::of(true, false, true),
        Self::of(true, true, false),
        Self::of(true, true, true),
    ];
    /// The most demanding kind.
    pub(crate) const REMOTE: Self =
        Self { remote_embedder: true, remote_vectors: true, writes: true };

    const fn of(remote_embedder: bool, remote_vectors: bool, writes: bool) -> Self {
        Self { remote_embedder, remote_vectors, writes }
    }
}

impl ConfiguredShares {
    /// Checks that every app's shares fit its total, whatever it will be answered with.
    pub(super) fn check(file: &File) -> Result<Self, ConfigError> {
        let fits = |key: &str, budget: &Budget| {
            allotment(budget, Kind::REMOTE)
                .map(|_fits| ())
                .map_err(|error| invalid(key, error.to_string()))
        };
        fits("budget", &file.budget)?;
        let mut apps = BTreeMap::new();
        for (app, own) in &file.apps {
            let budget = file.budget.with(&own.budget);
            fits(&format!("apps.{app}.budget"), &budget)?;
            apps.insert(app.clone(), budget);
        }
        Ok(Self { default: file.budget.clone(), apps, writes: false })
    }

    /// The same, for a process in which a model writes answers, or none does.
    pub(crate) fn with_model(self, writes: bool) -> Self {
        Self { writes, ..self }
    }

    /// The apps that have a section of their own.
    pub(crate) fn apps(&self) -> impl Iterator<Item = &AppName> {
        self.apps.keys()
    }

    /// The shares of `app`, or of one without a section of its own.
    pub(crate) fn of_app(&self, app: Option<&AppName>, kind: Kind) -> Allotment {
        let budget = app.and_then(|app| self.apps.get(app)).unwrap_or(&self.default);
        allotment(budget, kind).expect("what fits the most demanding kind fits every other")
    }

    /// The longest total of any app.
    pub(crate) fn longest(&self) -> Duration {
        let totals = self.apps.values().map(|budget| budget.total.0);
        totals.fold(self.default.total.0, Duration::max)
    }

    /// The same, with what has been calibrated over what is configured: minimums of what is remote, and cut-offs.
    ///
    /// # Errors
    ///
    /// The calibration is none for this configuration.
    pub(crate) fn calibrated(
        &self,
        app: &AppName,
        kind: Kind,
        values: &Values,
    ) -> Result<Allotment, deadline::AllotmentError> {
        let budget = self.apps.get(app).unwrap_or(&self.default);
        let ms = Duration::from_millis;
        let share = |configured: Share, is_remote: bool, calibrated: Option<u64>| {
            calibrated.filter(|_| is_remote).map_or(configured, |least| Share::Fixed(ms(least)))
        };
        let minimums = values.minimums;
        let budget = Budget {
            embed: share(budget.embed, kind.remote_embedder, minimums.embed_ms),
            vector: share(budget.vector, kind.remote_vectors, minimums.vector_ms),
            generate: share(budget.generate, kind.writes, minimums.generate_ms),
            retrieval_cutoff: Written(ms(values.retrieval_cutoff_ms)),
            first_token_cutoff: Written(ms(values.first_token_cutoff_ms)),
            ..budget.clone()
        };
        allotment(&budget, kind)
    }

    /// What kind of request `generation` answers in this process.
    pub(crate) fn kind(&self, generation: &Generation) -> Kind {
        Kind {
            remote_embedder: !generation.embedder().is_local(),
            remote_vectors: generation.vectors().is_remote(),
            writes: self.writes,
        }
    }

    /// The shares of a request to `app` that `generation` answers.
    pub(crate) fn of(&self, app: &AppName, generation: &Generation) -> Allotment {
        self.of_app(Some(app), self.kind(generation))
    }
}

fn allotment(budget: &Budget, kind: Kind) -> Result<Allotment, deadline::AllotmentError> {
    Allotment::new(
        budget.total.0,
        minimums(budget, kind),
        budget.reserve.0,
        budget.retrieval_cutoff.0,
        budget.first_token_cutoff.0,
    )
}

/// The least time of each stage: what is written, and for the others what usually suffices, scaled down to what
/// the written ones leave.
fn minimums(budget: &Budget, kind: Kind) -> Minimums {
    let usual = |remote: bool, there: Duration, here: Duration| if remote { there } else { here };
    let (there, here) = (Minimums::REMOTE, Minimums::EMBEDDED);
    let stages = [
        (budget.embed, usual(kind.remote_embedder, there.embed, here.embed)),
        (budget.vector, usual(kind.remote_vectors, there.vector, here.vector)),
        (budget.generate, usual(kind.writes, there.generate, Duration::ZERO)),
    ];
    let fixed: Duration = stages.iter().filter_map(|(share, _)| share.fixed()).sum();
    let wanted: Duration =
        stages.iter().filter(|(share, _)| share.fixed().is_none()).map(|(_, usual)| *usual).sum();
    let left = budget.total.0.saturating_sub(budget.reserve.0).saturating_sub(fixed);
    let scale = if wanted > left { left.as_secs_f64() / wanted.as_secs_f64() } else { 1.0 };
    let [embed, vector, generate] = stages.map(|(share, usual)| {
        share.fixed().unwrap_or_else(|| scaled(usual, scale).max(LEAST.min(usual)))
    });
    // Nobody writes, so nothing is held back for writing, whatever is configured for it.
    let generate = if kind.writes { generate } else { Duration::ZERO };
    Minimums { embed, vector, generate }
}

/// Whole milliseconds, rounded down, so that the parts never add up to more than there is.
fn scaled(usual: Duration, scale: f64) -> Duration {
    let millis = usual.mul_f64(scale).as_millis();
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

impl Share {
    fn fixed(self) -> Option<Duration> {
        match self {
            Self::Auto => None,
            Self::Fixed(duration) => Some(duration),
        }
    }
}
