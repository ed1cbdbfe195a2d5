//! [`Service`]: what handlers work with.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use deadline::{Allotment, CpuPool};
use domain::AppName;
use ledger::Recorder;
use normalize::Limits;
use pipeline::policy::Measured;
use pipeline::{Pipeline, Wants};
use search::Generation;
use tokio_util::task::TaskTracker;

use crate::metrics::Observed;
use crate::surroundings::{Alone, Surroundings};
use crate::{ConnectionLimits, Knowledge, Reports};

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
    /// The shares of a request to `app` that `generation` answers, received at this moment of the wall clock.
    fn allotted(&self, app: &AppName, generation: &Generation, received: SystemTime) -> Allotted;

    /// The longest total of any app.
    fn longest(&self) -> Duration;
}

/// The shares of one request, and the speeds that it is answered by: both of one calibration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allotted {
    pub allotment: Allotment,
    /// Speeds of models; what was not measured is as configured.
    pub measured: Measured,
    /// The calibration that they come from; 0 is the configuration.
    pub calibration: u64,
}

impl Allotted {
    /// Shares as they are configured, before anything was measured.
    #[must_use]
    pub fn configured(allotment: Allotment) -> Self {
        Self { allotment, measured: Measured::default(), calibration: 0 }
    }
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
    pub(crate) surroundings: Arc<dyn Surroundings>,
    /// `None`: what only operators want to see is not served.
    pub(crate) reports: Option<Reports>,
    pub(crate) observed: Arc<Observed>,
    pub(crate) started: SystemTime,
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
            surroundings: Arc::new(Alone),
            reports: None,
            observed: Arc::default(),
            started: SystemTime::now(),
            tasks: TaskTracker::new(),
            draining: AtomicBool::new(false),
        }
    }

    /// The same, among these surroundings.
    #[must_use]
    pub fn among(self, surroundings: Arc<dyn Surroundings>) -> Self {
        Self { surroundings, ..self }
    }

    /// The same, which shows operators metrics and these reports.
    #[must_use]
    pub fn for_operators(self, reports: Reports) -> Self {
        Self { reports: Some(reports), ..self }
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

    /// Whether it can answer and is not on its way out.
    pub(crate) fn is_ready(&self) -> bool {
        self.knowledge.any_loaded() && !self.is_draining()
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}
