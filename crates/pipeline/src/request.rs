//! [`Pipeline`]: the stages' implementations, and what is asked of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use deadline::{Allotment, CpuPool, Deadline};
use domain::{Filter, Generator, Question, Reason, RequestName, Stage};
use search::Generation;
use template::TemplateSettings;
use template::citations::Grounds;
use tokio::time::Instant;

use crate::calls::AbandonedCalls;
use crate::extra_calls::{ExtraCalls, ExtraCallsLeft};
use crate::faults::FaultLog;
use crate::policy::{Measured, Model, Plan, Readiness, Reasoning, Writers};
use crate::tally::{ModelTotals, Tally};
use crate::telling::{Event, Telling};
use crate::{Answered, Found, drive};

/// What a pipeline is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Where CPU work runs.
    pub pool: CpuPool,
    /// The models that write answers, if any is configured.
    pub models: Option<Models>,
    /// What extra calls of each remote part may cost; parts of one upstream share one.
    pub extra_calls: ExtraCallsByStage,
    pub template: TemplateSettings,
}

/// The models that write.
#[derive(Clone, Debug)]
pub struct Models {
    pub primary: Arc<dyn Generator>,
    /// Takes over when the primary one is slow or fails.
    pub lighter: Option<Arc<dyn Generator>>,
    /// What is expected of them; a speed of the lighter one is used only if there is one.
    pub writers: Writers,
}

/// The budgets for extra calls.
#[derive(Clone, Debug, Default)]
pub struct ExtraCallsByStage {
    pub embed: Arc<ExtraCalls>,
    pub vector: Arc<ExtraCalls>,
    pub generate: Arc<ExtraCalls>,
}

/// The stages, ready to answer. Shared by all requests.
#[derive(Debug)]
pub struct Pipeline {
    pub(crate) parts: Parts,
    pub(crate) faults: FaultLog,
    pub(crate) tally: Arc<Tally>,
    pub(crate) grounds: Grounds,
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
    pub name: RequestName,
    pub question: Question,
    /// Pinned: everything that this request touches hangs on it.
    pub generation: Arc<Generation>,
    pub filter: Filter,
    /// Hits to keep.
    pub top_k: usize,
    pub allotment: Allotment,
    /// How fast models were measured to write at the time of day at which it was received.
    pub measured: Measured,
    /// When the request head was parsed.
    pub start: Instant,
    pub deadline: Deadline,
    /// What normalising took; it happened before the pipeline.
    pub normalize: Duration,
    pub wants: Wants,
    pub reasoning: Reasoning,
    /// Where the calls are left if the request is dropped before it is answered.
    pub abandoned: AbandonedCalls,
}

impl Pipeline {
    /// Puts the parts together.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self {
            parts,
            faults: FaultLog::default(),
            tally: Arc::default(),
            grounds: Grounds::default(),
        }
    }

    /// Answers `request` by its deadline with the best that is in hand by then. Never fails: what went
    /// wrong is among the answer's reasons.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future abandons every call under way.
    pub async fn answer(&self, request: &Request) -> Answered {
        drive::run(self, request, Telling::new(None)).await.into_answered()
    }

    /// The same, telling `listener` of the answer while it is being written. What it hears as text, joined, is
    /// the answer's text, or else the answer has become another one after the fact. It must not block.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future abandons every call under way.
    pub async fn answer_telling(
        &self,
        request: &Request,
        listener: &mut (dyn FnMut(Event) + Send),
    ) -> Answered {
        drive::run(self, request, Telling::new(Some(listener))).await.into_answered()
    }

    /// Finds passages for `request` by its deadline, without writing an answer. Never fails.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future abandons every call under way.
    pub async fn search(&self, request: &Request) -> Found {
        drive::run(self, request, Telling::new(None)).await.into_found()
    }

    /// What models were called for since the start.
    #[must_use]
    pub fn model_totals(&self) -> ModelTotals {
        self.tally.totals()
    }

    /// The same, by the models' names.
    #[must_use]
    pub fn totals_by_model(&self) -> BTreeMap<String, ModelTotals> {
        self.tally.by_model()
    }

    /// What is left of the budgets for extra calls.
    #[must_use]
    pub fn extra_calls_left(&self) -> [(Stage, ExtraCallsLeft); 3] {
        let ExtraCallsByStage { embed, vector, generate } = &self.parts.extra_calls;
        [
            (Stage::Embed, embed.left()),
            (Stage::Vector, vector.left()),
            (Stage::Generate, generate.left()),
        ]
    }

    /// What is fixed for `request` before its first decision.
    pub(crate) fn plan(&self, request: &Request) -> Plan {
        let embedder = match request.generation.embedding() {
            None => Readiness::Missing(Reason::Unavailable),
            Some(embedder) if embedder.covers(request.question.text()) => Readiness::Ready,
            Some(_) => Readiness::NotWanted,
        };
        let generator = match (request.wants, &self.parts.models) {
            (Wants::Passages, _) => Readiness::NotWanted,
            (Wants::Answer, None) => Readiness::Missing(Reason::NoGenerator),
            (Wants::Answer, Some(_)) => Readiness::Ready,
        };
        let writers = self.parts.models.as_ref().map_or(Writers::UNMEASURED, Models::writers);
        let Request { start, deadline, allotment, measured, reasoning, .. } = *request;
        let writers = writers.at(measured);
        Plan { start, deadline, allotment, embedder, generator, writers, reasoning }
    }
}

impl Models {
    /// What the policy goes by where nothing was measured.
    fn writers(&self) -> Writers {
        Writers { lighter: self.writers.lighter.filter(|_| self.lighter.is_some()), ..self.writers }
    }

    /// The model that `model` stands for.
    pub(crate) fn get(&self, model: Model) -> &Arc<dyn Generator> {
        match model {
            Model::Primary => &self.primary,
            Model::Lighter => self.lighter.as_ref().unwrap_or(&self.primary),
        }
    }
}
