//! [`Pipeline`]: the stages' implementations, and what is asked of them.

use std::sync::Arc;
use std::time::Duration;

use deadline::{Allotment, CpuPool, Deadline};
use domain::{Embedder, EmbedderId, Filter, GenerateLimits, Generator, Question, Reason};
use search::Generation;
use template::TemplateSettings;
use tokio::time::Instant;

use crate::faults::FaultLog;
use crate::policy::{Plan, Readiness};
use crate::{Answered, Found, drive};

/// What a pipeline is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Where CPU work runs.
    pub pool: CpuPool,
    /// Every model that some generation may name.
    pub embedders: Vec<Arc<dyn Embedder>>,
    /// The model that writes answers, if one is configured.
    pub generator: Option<Arc<dyn Generator>>,
    pub generate_limits: GenerateLimits,
    pub template: TemplateSettings,
}

/// The stages, ready to answer. Shared by all requests.
#[derive(Debug)]
pub struct Pipeline {
    pub(crate) parts: Parts,
    pub(crate) faults: FaultLog,
}

/// What a request is after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// An answer; the last word of the question is whole.
    Answer,
    /// Passages only, per keystroke: the last word may be unfinished.
    Passages,
}

/// One question and everything it is answered with.
#[derive(Clone, Debug)]
pub struct Request {
    pub question: Question,
    /// Pinned: everything that this request touches hangs on it.
    pub generation: Arc<Generation>,
    pub filter: Filter,
    /// Hits to keep.
    pub top_k: usize,
    pub allotment: Allotment,
    /// When the request head was parsed.
    pub start: Instant,
    pub deadline: Deadline,
    /// What normalising took; it happened before the pipeline.
    pub normalize: Duration,
    pub wants: Wants,
}

impl Pipeline {
    /// Puts the parts together.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self { parts, faults: FaultLog::default() }
    }

    /// Answers `request` by its deadline with the best that is in hand by then. Never fails: what went
    /// wrong is among the answer's reasons.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future abandons every call under way.
    pub async fn answer(&self, request: &Request) -> Answered {
        let run = drive::run(self, request).await;
        run.into_answered()
    }

    /// Finds passages for `request` by its deadline, without writing an answer. Never fails.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future abandons every call under way.
    pub async fn search(&self, request: &Request) -> Found {
        let run = drive::run(self, request).await;
        run.into_found()
    }

    /// The model that made `id`'s vectors.
    pub(crate) fn embedder(&self, id: &EmbedderId) -> Option<&Arc<dyn Embedder>> {
        self.parts.embedders.iter().find(|embedder| embedder.id() == id)
    }

    /// What is fixed for `request` before its first decision.
    pub(crate) fn plan(&self, request: &Request) -> Plan {
        let embedder = match self.embedder(request.generation.embedder()) {
            None => Readiness::Missing(Reason::Unavailable),
            Some(embedder) if embedder.covers(request.question.text()) => Readiness::Ready,
            Some(_) => Readiness::NotWanted,
        };
        let generator = match (request.wants, &self.parts.generator) {
            (Wants::Passages, _) => Readiness::NotWanted,
            (Wants::Answer, None) => Readiness::Missing(Reason::NoGenerator),
            (Wants::Answer, Some(_)) => Readiness::Ready,
        };
        let Request { start, deadline, allotment, .. } = *request;
        Plan { start, deadline, allotment, embedder, generator }
    }
}
