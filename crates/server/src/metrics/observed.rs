//! [`Observed`]: what requests leave behind for the metrics.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::{AppName, Degradation, Outcome, Reason, Stage, StageReport};
use pipeline::ModelCall;

use super::histogram::Histogram;
use crate::finished::Finished;
use crate::problem::Code;
use crate::wire::degraded;

/// In seconds: from what a local stage takes to what no budget allows, dense where the usual one of 4 s ends.
const LATENCIES: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5,
    3.9, 3.95, 4.0, 4.05, 5.0, 10.0,
];

/// In seconds. A response may leave 25 ms after its deadline and no later.
const OVERSHOOTS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0];

/// What has been counted since the start. A request takes its lock twice, for about a microsecond each.
#[derive(Debug, Default)]
pub(crate) struct Observed(Mutex<Seen>);

#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) apps: BTreeMap<AppName, BTreeMap<&'static str, Requests>>,
    pub(super) models: BTreeMap<String, Calls>,
    /// Problem documents by their code.
    pub(super) refused: BTreeMap<&'static str, u64>,
}

/// The requests of one app at one endpoint.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    /// Understood and not ended.
    pub(super) open: u64,
    /// Ended by their clients.
    pub(super) cancelled: u64,
    pub(super) kinds: BTreeMap<&'static str, u64>,
    pub(super) degraded: u64,
    pub(super) reasons: BTreeMap<(Stage, Reason), u64>,
    pub(super) took: Histogram,
    pub(super) overshoot: Histogram,
    /// Of answers, by whether they were streamed.
    pub(super) first_content: BTreeMap<bool, Histogram>,
    pub(super) stages: BTreeMap<Stage, StageRuns>,
}

#[derive(Clone, Debug)]
pub(super) struct StageRuns {
    pub(super) outcomes: BTreeMap<&'static str, u64>,
    /// Of those that ran.
    pub(super) took: Histogram,
}

/// The calls of one model.
#[derive(Clone, Debug)]
pub(super) struct Calls {
    pub(super) took: Histogram,
    pub(super) first_token: Histogram,
}

impl Observed {
    pub(crate) fn begun(&self, app: &AppName, endpoint: &'static str) {
        self.seen().requests(app, endpoint).open += 1;
    }

    /// It was dropped, or broke off.
    pub(crate) fn cancelled(&self, app: &AppName, endpoint: &'static str) {
        let mut seen = self.seen();
        let requests = seen.requests(app, endpoint);
        requests.open = requests.open.saturating_sub(1);
        requests.cancelled += 1;
    }

    pub(crate) fn refused(&self, code: Code) {
        *self.seen().refused.entry(code.as_str()).or_default() += 1;
    }

    pub(crate) fn finished(&self, finished: &Finished<'_>) {
        let app = &finished.asked.request.generation.id().app;
        let mut seen = self.seen();
        seen.requests(app, finished.endpoint).note(finished);
        finished.calls.iter().for_each(|call| seen.note_call(call));
    }

    /// All of it, as of one moment.
    pub(super) fn snapshot(&self) -> Seen {
        self.seen().clone()
    }

    // A panic between two additions leaves one request half counted, which hurts nobody.
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn requests(&mut self, app: &AppName, endpoint: &'static str) -> &mut Requests {
        // A name is cloned for an app's first request only.
        if !self.apps.contains_key(app) {
            self.apps.insert(app.clone(), BTreeMap::new());
        }
        let endpoints =
            self.apps.get_mut(app).expect("it has just been inserted if it was missing");
        endpoints.entry(endpoint).or_default()
    }

    fn note_call(&mut self, call: &ModelCall) {
        match self.models.get_mut(&call.model) {
            Some(calls) => calls.note(call),
            None => self.models.entry(call.model.clone()).or_default().note(call),
        }
    }
}

impl Requests {
    fn note(&mut self, finished: &Finished<'_>) {
        self.open = self.open.saturating_sub(1);
        *self.kinds.entry(finished.kind).or_default() += 1;
        self.degraded += u64::from(degraded(&finished.reasons));
        for Degradation { stage, reason, .. } in &finished.reasons {
            *self.reasons.entry((*stage, *reason)).or_default() += 1;
        }
        self.took.observe(finished.spent);
        if let Some(over) = finished.spent.checked_sub(finished.asked.budget_total)
            && !over.is_zero()
        {
            self.overshoot.observe(over);
        }
        if let Some(first) = finished.first_content_of_answer() {
            let streamed = self.first_content.entry(finished.streamed);
            streamed.or_insert_with(|| Histogram::over(LATENCIES)).observe(first);
        }
        finished.stages.iter().for_each(|report| self.note_stage(report));
    }

    fn note_stage(&mut self, report: &StageReport) {
        let runs = self.stages.entry(report.stage).or_default();
        *runs.outcomes.entry(report.outcome.as_str()).or_default() += 1;
        if report.outcome != Outcome::Skipped {
            runs.took.observe(report.elapsed);
        }
    }
}

impl Calls {
    fn note(&mut self, call: &ModelCall) {
        self.took.observe(call.elapsed);
        if let Some(first) = call.first_token {
            self.first_token.observe(first);
        }
    }
}

impl Default for Requests {
    fn default() -> Self {
        Self {
            open: 0,
            cancelled: 0,
            kinds: BTreeMap::new(),
            degraded: 0,
            reasons: BTreeMap::new(),
            took: Histogram::over(LATENCIES),
            overshoot: Histogram::over(OVERSHOOTS),
            first_content: BTreeMap::new(),
            stages: BTreeMap::new(),
        }
    }
}

impl Default for StageRuns {
    fn default() -> Self {
        Self { outcomes: BTreeMap::new(), took: Histogram::over(LATENCIES) }
    }
}

impl Default for Calls {
    fn default() -> Self {
        Self { took: Histogram::over(LATENCIES), first_token: Histogram::over(LATENCIES) }
    }
}
