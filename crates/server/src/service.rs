//! [`Service`]: what handlers work with.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadline::{Allotment, CpuPool};
use domain::AppName;
use ledger::Recorder;
use normalize::Limits;
use pipeline::{Pipeline, Wants};
use search::Generation;
use tokio_util::task::TaskTracker;

use crate::{ConnectionLimits, Knowledge};

/// Handlers' settings, as relied on.
#[derive(Clone, Debug)]
pub struct Settings {
    pub shares: Arc<dyn Shares>,
    /// The longest budget of a search per keystroke.
    pub search_allotment: Allotment,
    pub question: Limits,
    /// Hits that an answer is drawn from, and that a search returns, unless the request says otherwise.
    pub top_k: usize,
    /// Whether `X-Envoy-Expected-Rq-Timeout-Ms` is read.
    pub trust_envoy: bool,
    pub connections: ConnectionLimits,
}

/// Who says how the time of a request for an answer is shared out.
pub trait Shares: Send + Sync + fmt::Debug {
    /// The shares of a request to `app` that `generation` answers.
    fn of(&self, app: &AppName, generation: &Generation) -> Allotment;

    /// The same shares, with what they rest on.
    fn allotted(&self, app: &AppName, generation: &Generation) -> Allotted {
        Allotted { allotment: self.of(app, generation), calibration: 0 }
    }

    /// The longest total of any app.
    fn longest(&self) -> Duration;
}

/// The shares of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allotted {
    pub allotment: Allotment,
    /// The calibration that they come from; 0 is the configuration.
    pub calibration: u64,
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
    /// Answers that are being streamed; each is held by its response's body.
    pub(crate) tasks: TaskTracker,
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
        Self {
            pipeline,
            knowledge,
            recorder,
            pool,
            settings,
            tasks: TaskTracker::new(),
            draining: AtomicBool::new(false),
        }
    }

    /// The longest budget that any app gives to requests of this kind.
    pub(crate) fn longest_budget(&self, wants: Wants) -> Duration {
        match wants {
            Wants::Passages => self.settings.search_allotment.total(),
            Wants::Answer => self.settings.shares.longest(),
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
