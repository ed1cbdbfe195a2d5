//! What a request comes back with.

use domain::{Answer, Degradation, Hit, ModelUse, StageReport};

use crate::policy::Calls;
use crate::{ModelCall, Trace};

/// An answer, and how it came about.
#[derive(Clone, Debug)]
pub struct Answered {
    pub answer: Answer,
    /// The hits that were in hand, best first.
    pub hits: Vec<Hit>,
    /// In the pipeline's order.
    pub stages: Vec<StageReport>,
    pub model: Option<ModelUse>,
    /// Every call of a model, in order.
    pub calls: Vec<ModelCall>,
    /// How often each stage was called.
    pub attempts: Calls,
    pub trace: Trace,
}

/// Passages, and how they were found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Best first.
    pub hits: Vec<Hit>,
    /// In the pipeline's order.
    pub stages: Vec<StageReport>,
    /// How often each stage was called.
    pub attempts: Calls,
    pub trace: Trace,
}

impl Answered {
    /// Why the answer is not better, in the pipeline's order.
    #[must_use]
    pub fn reasons(&self) -> Vec<Degradation> {
        reasons(&self.stages)
    }
}

impl Found {
    /// Why the list is not better, in the pipeline's order.
    #[must_use]
    pub fn reasons(&self) -> Vec<Degradation> {
        reasons(&self.stages)
    }
}

fn reasons(stages: &[StageReport]) -> Vec<Degradation> {
    let degradation = |report: &StageReport| {
        report.reason.map(|reason| Degradation {
            stage: report.stage,
            reason,
            budget: report.budget,
            elapsed: report.elapsed,
        })
    };
    stages.iter().filter_map(degradation).collect()
}
