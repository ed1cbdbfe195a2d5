//! The driver: does what the policy says until it says to finish.

use deadline::Deadline;
use domain::{Delta, Fault, FaultKind, Outcome, Prompt, Reason, Stage, StageReport, Vector};
use tokio::time::{Duration, Instant};

use crate::flights::{Event, Flights, Query};
use crate::found::{Fused, Retrieved};
use crate::policy::{self, Action, Plan, Progress, State};
use crate::stages::StageTable;
use crate::trace::Trace;
use crate::writing::{Ending, Writing};
use crate::{Pipeline, Request, Wants};

/// More candidates than are kept: a passage that is middling in both lists may win together.
const CANDIDATES: usize = 50;

/// One request under way, or just ended.
pub(crate) struct Run<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) request: &'a Request,
    pub(crate) plan: Plan,
    pub(crate) table: StageTable,
    pub(crate) trace: Trace,
    pub(crate) retrieved: Retrieved,
    pub(crate) fused: Option<Fused>,
    pub(crate) writing: Writing,
    state: State,
    question_vector: Option<Vector>,
}

/// Runs `request` through its stages; everything that was found is in the result.
pub(crate) async fn run<'a>(pipeline: &'a Pipeline, request: &'a Request) -> Run<'a> {
    let mut run = Run::new(pipeline, request);
    let mut flights = Flights::default();
    loop {
        run.fuse_once_settled();
        let now = Instant::now();
        let action = policy::next(&run.plan, run.state, now);
        run.trace.note(&run.plan, now, action);
        match action {
            Action::Start { stage, until } => run.start(stage, until, now, &mut flights),
            Action::Skip { stage, reason } => run.skip(stage, now, reason),
            Action::Cut { stage } => run.cut(stage, now, &mut flights),
            Action::Wait { until } => {
                let event = flights.next(until).await;
                run.take(event, &mut flights);
            }
            Action::Finish => return run,
        }
    }
}

impl<'a> Run<'a> {
    fn new(pipeline: &'a Pipeline, request: &'a Request) -> Self {
        let plan = pipeline.plan(request);
        let mut table = StageTable::new(request.start);
        table.add(StageReport {
            stage: Stage::Normalize,
            outcome: Outcome::Ok,
            started: Duration::ZERO,
            elapsed: request.normalize,
            budget: request.deadline.remaining_at(request.start),
            reason: None,
        });
        Self {
            pipeline,
            request,
            plan,
            table,
            trace: Trace::new(&plan),
            retrieved: Retrieved::default(),
            fused: None,
            writing: Writing::default(),
            state: State::START,
            question_vector: None,
        }
    }

    fn fuse_once_settled(&mut self) {
        if self.fused.is_none() && self.state.retrieval_settled() {
            let fused = self.retrieved.fuse(self.request.question.lang(), self.request.top_k);
            self.state.answerable = fused.answerable;
            self.fused = Some(fused);
        }
    }

    fn start(&mut self, stage: Stage, until: Instant, now: Instant, flights: &mut Flights) {
        let deadline = Deadline::from_start(now, until.saturating_duration_since(now));
        self.state.set(stage, Progress::Running);
        self.table.started(stage, now);
        match stage {
            Stage::Keyword => flights.start_keyword(self.query(), deadline),
            Stage::Embed => self.start_embed(deadline, flights),
            Stage::Vector => {
                if let Some(vector) = self.question_vector.clone() {
                    flights.start_vector(self.query(), vector, deadline);
                }
            }
            Stage::Generate => self.start_generate(deadline, flights),
            Stage::Normalize | Stage::Template => {}
        }
    }

    fn start_embed(&self, deadline: Deadline, flights: &mut Flights) {
        if let Some(embedder) = self.pipeline.embedder(self.request.generation.embedder()) {
            let text = self.request.question.text().to_owned();
            flights.start_embed(embedder.clone(), text, deadline);
        }
    }

    fn start_generate(&self, deadline: Deadline, flights: &mut Flights) {
        let Some(generator) = &self.pipeline.parts.generator else { return };
        let hits = self.fused.as_ref().map_or(&[][..], |fused| &fused.hits);
        let prompt = Prompt {
            question: self.request.question.clone(),
            passages: hits.iter().map(|hit| hit.passage.clone()).collect(),
            answer_lang: self.request.question.lang(),
        };
        flights.start_generate(generator.stream(
            prompt,
            self.pipeline.parts.generate_limits,
            deadline,
        ));
    }

    fn query(&self) -> Query {
        Query {
            generation: self.request.generation.clone(),
            pool: self.pipeline.parts.pool.clone(),
            text: self.request.question.text().to_owned(),
            filter: self.request.filter.clone(),
            k: self.request.top_k.max(CANDIDATES),
            last_word_is_prefix: self.request.wants == Wants::Passages,
        }
    }

    fn skip(&mut self, stage: Stage, now: Instant, reason: Option<Reason>) {
        self.state.set(stage, Progress::Gone);
        self.table.skipped(stage, now, reason);
    }

    fn cut(&mut self, stage: Stage, now: Instant, flights: &mut Flights) {
        flights.abandon(stage);
        self.settle(stage, now, Progress::Gone, Ending::OUT_OF_TIME);
    }

    fn take(&mut self, event: Event, flights: &mut Flights) {
        let now = Instant::now();
        match event {
            Event::Keyword(result) => {
                let useful = |found: &search::KeywordHits| !found.hits.is_empty();
                self.retrieved.keyword = self.land(Stage::Keyword, now, result, useful);
            }
            Event::Embed(result) => {
                self.question_vector = self.land(Stage::Embed, now, result, |_| true);
            }
            Event::Vector(result) => {
                self.retrieved.vector =
                    self.land(Stage::Vector, now, result, |hits| !hits.is_empty());
            }
            Event::Generate(event) => self.take_delta(event.as_ref(), now, flights),
            Event::Time => {}
        }
    }

    /// Settles `stage` with its result, and hands the value on.
    fn land<T>(
        &mut self,
        stage: Stage,
        now: Instant,
        result: Result<T, Fault>,
        useful: impl Fn(&T) -> bool,
    ) -> Option<T> {
        match result {
            Ok(value) => {
                let progress = Progress::Delivered { useful: useful(&value) };
                self.settle(stage, now, progress, Ending::WELL);
                Some(value)
            }
            Err(fault) => {
                self.pipeline.faults.note(stage, &fault);
                self.settle(stage, now, Progress::Gone, Ending::of(&fault));
                None
            }
        }
    }

    fn take_delta(
        &mut self,
        event: Option<&Result<Delta, Fault>>,
        now: Instant,
        flights: &mut Flights,
    ) {
        let Some(ending) = self.writing.take(event) else { return };
        flights.abandon(Stage::Generate);
        if let Some(Err(fault)) = event {
            self.pipeline.faults.note(Stage::Generate, fault);
        }
        let progress = match ending.outcome {
            Outcome::Ok => Progress::Delivered { useful: true },
            Outcome::Skipped | Outcome::Cut | Outcome::Failed => Progress::Gone,
        };
        self.settle(Stage::Generate, now, progress, ending);
    }

    fn settle(&mut self, stage: Stage, now: Instant, progress: Progress, ending: Ending) {
        let limit = policy::limit(&self.plan, self.state, stage);
        self.table.ended(stage, limit, now, ending.outcome, ending.reason);
        self.state.set(stage, progress);
    }
}

impl Ending {
    const WELL: Self = Self { outcome: Outcome::Ok, reason: None };
    const OUT_OF_TIME: Self = Self { outcome: Outcome::Cut, reason: Some(Reason::Timeout) };

    fn of(fault: &Fault) -> Self {
        let outcome = match fault.kind() {
            FaultKind::Timeout => Outcome::Cut,
            FaultKind::Error
            | FaultKind::RateLimited
            | FaultKind::BreakerOpen
            | FaultKind::Blocked
            | FaultKind::ThinkingExhausted
            | FaultKind::Quota
            | FaultKind::Overloaded
            | FaultKind::Unavailable => Outcome::Failed,
        };
        Self { outcome, reason: Some(fault.kind().reason()) }
    }
}
