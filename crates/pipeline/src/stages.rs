//! [`StageTable`]: the reports of one request, filled in as stages settle.

use domain::{Outcome, Reason, Stage, StageReport};
use tokio::time::{Duration, Instant};

/// One report per stage that took part.
#[derive(Debug)]
pub(crate) struct StageTable {
    start: Instant,
    reports: Vec<StageReport>,
    running: Vec<(Stage, Instant)>,
}

impl StageTable {
    pub(crate) fn new(start: Instant) -> Self {
        Self { start, reports: Vec::new(), running: Vec::new() }
    }

    /// Notes that `stage` began at `now`.
    pub(crate) fn started(&mut self, stage: Stage, now: Instant) {
        self.running.push((stage, now));
    }

    /// Notes that `stage`, begun before and limited to `limit`, ended at `now`.
    pub(crate) fn ended(
        &mut self,
        stage: Stage,
        limit: Instant,
        now: Instant,
        outcome: Outcome,
        reason: Option<Reason>,
    ) {
        let began = self.take_start(stage).unwrap_or(now);
        self.reports.push(StageReport {
            stage,
            outcome,
            started: began.saturating_duration_since(self.start),
            elapsed: now.saturating_duration_since(began),
            budget: limit.saturating_duration_since(began),
            reason,
        });
    }

    /// Notes that `stage` was not started.
    pub(crate) fn skipped(&mut self, stage: Stage, now: Instant, reason: Option<Reason>) {
        self.reports.push(StageReport {
            stage,
            outcome: Outcome::Skipped,
            started: now.saturating_duration_since(self.start),
            elapsed: Duration::ZERO,
            budget: Duration::ZERO,
            reason,
        });
    }

    /// Adds a stage that was timed elsewhere.
    pub(crate) fn add(&mut self, report: StageReport) {
        self.reports.push(report);
    }

    /// How `stage` ended, if it took part.
    pub(crate) fn outcome(&self, stage: Stage) -> Option<Outcome> {
        self.reports.iter().find(|report| report.stage == stage).map(|report| report.outcome)
    }

    /// Why `stage` delivered less than it could, if it took part and did.
    pub(crate) fn reason(&self, stage: Stage) -> Option<Reason> {
        self.reports.iter().find(|report| report.stage == stage)?.reason
    }

    /// Says that what `stage` delivered cannot be used after all.
    pub(crate) fn overrule(&mut self, stage: Stage, outcome: Outcome, reason: Reason) {
        if let Some(report) = self.reports.iter_mut().find(|report| report.stage == stage) {
            report.outcome = outcome;
            report.reason = Some(reason);
        }
    }

    /// The reports, in the pipeline's order.
    pub(crate) fn into_reports(mut self) -> Vec<StageReport> {
        self.reports.sort_by_key(|report| report.stage);
        self.reports
    }

    fn take_start(&mut self, stage: Stage) -> Option<Instant> {
        let at = self.running.iter().position(|(running, _)| *running == stage)?;
        Some(self.running.swap_remove(at).1)
    }
}
