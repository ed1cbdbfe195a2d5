//! [`Service`]: what handlers work with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadline::{Allotment, CpuPool};
use domain::AppName;
use ledger::Recorder;
use normalize::Limits;
use pipeline::{Pipeline, Wants};

use crate::Knowledge;

/// Handlers' settings, as relied on.
#[derive(Clone, Debug)]
pub struct Settings {
    /// For apps without shares of their own.
    pub allotment: Allotment,
    pub allotments: BTreeMap<AppName, Allotment>,
    /// The longest budget of a search per keystroke.
    pub search_allotment: Allotment,
    pub question: Limits,
    /// Hits that an answer is drawn from, and that a search returns, unless the request says otherwise.
    pub top_k: usize,
    /// Whether `X-Envoy-Expected-Rq-Timeout-Ms` is read.
    pub trust_envoy: bool,
}

/// One running server's parts. Shared by all requests.
#[derive(Debug)]
pub struct Service {
    pub pipeline: Pipeline,
    pub knowledge: Arc<Knowledge>,
    pub recorder: Recorder,
    /// Where CPU work runs.
    pub pool: CpuPool,
    pub settings: Settings,
    draining: AtomicBool,
}

impl Service {
    /// Puts the parts together.
    #[must_use]
    pub fn new(
        pipeline: Pipeline,
        knowledge: Arc<Knowledge>,
        recorder: Recorder,
        pool: CpuPool,
        settings: Settings,
    ) -> Self {
        Self { pipeline, knowledge, recorder, pool, settings, draining: AtomicBool::new(false) }
    }

    /// The shares of `app`.
    pub(crate) fn allotment(&self, app: &AppName) -> Allotment {
        self.settings.allotments.get(app).copied().unwrap_or(self.settings.allotment)
    }

    /// The longest budget that any app gives to requests of this kind.
    pub(crate) fn longest_budget(&self, wants: Wants) -> Duration {
        match wants {
            Wants::Passages => self.settings.search_allotment.total(),
            Wants::Answer => {
                let totals = self.settings.allotments.values().map(Allotment::total);
                totals.fold(self.settings.allotment.total(), Duration::max)
            }
        }
    }

    /// Tells load balancers to look elsewhere.
    pub(crate) fn start_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}
