//! The driver: does what the policy says until it says to finish.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use deadline::Deadline;
use domain::{
    Call, Fault, FaultKind, Outcome, Passage, Prompt, Reason, Stage, StageReport, Vector,
};
use tokio::time::{Duration, Instant};

use crate::drafts::{Accounts, Drafts};
use crate::flights::{Event, Flights, Query};
use crate::found::{Fused, Retrieved};
use crate::policy::{self, Action, Calls, Model, Plan, Progress, Purse, State};
use crate::stages::StageTable;
use crate::telling::Telling;
use crate::trace::Trace;
use crate::writing::Ending;
use crate::{Pipeline, Request, Wants};

/// More candidates than are kept: a passage that is middling in both lists may win together.
const CANDIDATES: usize = 50;

/// Full jitter below this before a call is made again (AWS, "Exponential Backoff And Jitter"); there is one
/// retry at most, so nothing grows.
const BACKOFF: Duration = Duration::from_millis(50);

/// One request under way, or just ended.
pub(crate) struct Run<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) request: &'a Request,
    pub(crate) plan: Plan,
    pub(crate) table: StageTable,
    pub(crate) trace: Trace,
    pub(crate) retrieved: Retrieved,
    pub(crate) fused: Option<Fused>,
    pub(crate) drafts: Drafts,
    pub(crate) telling: Telling<'a>,
    pub(crate) state: State,
    question_vector: Option<Vector>,
    /// Of the stages whose call has failed and that may yet try again.
    failures: Vec<(Stage, Fault)>,
    /// When a generation that has finished is taken as it is.
    pub(crate) closing: Option<Instant>,
}

/// Runs `request` through its stages; everything that was found is in the result.
pub(crate) async fn run<'a>(
    pipeline: &'a Pipeline,
    request: &'a Request,
    telling: Telling<'a>,
) -> Run<'a> {
    let mut run = Run::new(pipeline, request, telling);
    let mut flights = Flights::default();
    loop {
        run.fuse_once_settled();
        let now = Instant::now();
        run.state.purse = run.purse();
        let action = policy::next(&run.plan, run.state, now);
        run.trace.note(&run.plan, now, action);
        match action {
            Action::Start { stage, until } => run.start(stage, until, now, &mut flights),
            Action::Write(write) => run.write(write, now, &mut flights),
            Action::Skip { stage, reason } => run.skip(stage, now, reason),
            Action::Cut { stage } => run.cut(stage, now, &mut flights),
            Action::GiveUp { stage } => run.give_up(stage, now),
            Action::Wait { until } => {
                let until = run.closing.map_or(until, |closing| closing.min(until));
                let event = flights.next(until).await;
                run.take(event, &mut flights);
            }
            Action::Finish => return run,
        }
    }
}

impl<'a> Run<'a> {
    fn new(pipeline: &'a Pipeline, request: &'a Request, telling: Telling<'a>) -> Self {
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
        let accounts = Accounts {
            models: pipeline.parts.models.clone(),
            tally: Arc::clone(&pipeline.tally),
            abandoned: request.abandoned.clone(),
        };
        Self {
            pipeline,
            request,
            plan,
            table,
            trace: Trace::new(&plan),
            retrieved: Retrieved::default(),
            fused: None,
            drafts: Drafts::new(request.start, accounts),
            telling,
            state: State::START,
            question_vector: None,
            failures: Vec::new(),
            closing: None,
        }
    }

    /// How often each stage was called.
    pub(crate) fn attempts(&self) -> Calls {
        self.state.calls
    }

    fn fuse_once_settled(&mut self) {
        if self.fused.is_some() || !self.state.retrieval_settled() {
            return;
        }
        let fused = self.retrieved.fuse(self.request.question.lang(), self.request.top_k);
        self.state.answerable = fused.answerable;
        if self.request.wants == Wants::Answer {
            self.telling.sources(&fused.hits);
        }
        self.fused = Some(fused);
        if let Some(models) = &self.pipeline.parts.models {
            self.state.input_tokens = models.primary.input_tokens(&self.prompt());
        }
    }

    /// Whether an extra call would be paid for now.
    fn purse(&self) -> Purse {
        let extra = &self.pipeline.parts.extra_calls;
        let paid = |stage| self.failures.iter().any(|(failed, _)| *failed == stage);
        Purse {
            embed_retry: paid(Stage::Embed) || extra.embed.would_retry(),
            vector_retry: paid(Stage::Vector) || extra.vector.would_retry(),
            generate_retry: paid(Stage::Generate) || extra.generate.would_retry(),
            replacement: extra.generate.would_replace(),
        }
    }

    fn start(&mut self, stage: Stage, until: Instant, now: Instant, flights: &mut Flights) {
        self.note_first_call(stage);
        self.forget_failure(stage);
        self.state.call(stage);
        if self.state.calls(stage) <= 1 {
            self.table.started(stage, now);
        }
        let call = self.call(stage, until, now);
        match stage {
            Stage::Keyword => flights.start_keyword(self.query(), call.deadline),
            Stage::Embed => self.start_embed(call, flights),
            Stage::Vector => {
                if let Some(vector) = self.question_vector.clone() {
                    flights.start_vector(self.query(), vector, call);
                }
            }
            Stage::Normalize | Stage::Generate | Stage::Template => {}
        }
    }

    /// A first call fills the budget for extra ones; another one has been paid for when it was planned.
    fn note_first_call(&self, stage: Stage) {
        let extra = &self.pipeline.parts.extra_calls;
        match stage {
            Stage::Embed if self.state.calls.embed == 0 => extra.embed.first_call(),
            Stage::Vector if self.state.calls.vector == 0 => extra.vector.first_call(),
            Stage::Normalize
            | Stage::Keyword
            | Stage::Embed
            | Stage::Vector
            | Stage::Generate
            | Stage::Template => {}
        }
    }

    pub(crate) fn call(&self, stage: Stage, until: Instant, now: Instant) -> Call {
        Call {
            deadline: Deadline::from_start(now, until.saturating_duration_since(now)),
            request: self.request.name.clone(),
            attempt: self.state.calls(stage).max(1),
        }
    }

    fn start_embed(&self, call: Call, flights: &mut Flights) {
        if let Some(embedder) = self.request.generation.embedding() {
            let text = self.request.question.text().to_owned();
            flights.start_embed(embedder.clone(), text, call);
        }
    }

    pub(crate) fn prompt(&self) -> Prompt {
        Prompt {
            question: self.request.question.clone(),
            passages: self.passages(),
            answer_lang: self.request.question.lang(),
        }
    }

    /// The passages in hand, in the order in which marks number them.
    pub(crate) fn passages(&self) -> Vec<Arc<Passage>> {
        let hits = self.fused.as_ref().map_or(&[][..], |fused| &fused.hits);
        hits.iter().map(|hit| hit.passage.clone()).collect()
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
        match self.drafts.finished() {
            Some(attempt) if stage == Stage::Generate => self.end_writing(attempt, now, flights),
            Some(_) | None => self.end(stage, now, Progress::Gone, Ending::OUT_OF_TIME),
        }
    }

    fn give_up(&mut self, stage: Stage, now: Instant) {
        let ending = match self.forget_failure(stage) {
            Some(fault) => {
                self.pipeline.faults.note(stage, &fault);
                Ending::of(&fault)
            }
            None => Ending::BROKEN,
        };
        self.end(stage, now, Progress::Gone, ending);
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
            Event::Generate(attempt, event) => self.take_writing(attempt, event, now, flights),
            Event::Time => self.close_in_time(now, flights),
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
                self.end(stage, now, progress, Ending::WELL);
                Some(value)
            }
            Err(fault) => {
                self.failed(stage, fault, now);
                None
            }
        }
    }

    /// Leaves it to the policy whether a failed call is made again, where that may help.
    pub(crate) fn failed(&mut self, stage: Stage, fault: Fault, now: Instant) {
        let again = self.pause_before_another(stage, &fault).map(|pause| now + pause);
        self.state.purse = self.purse();
        let would = |again: &Instant| {
            policy::would_try_again(&self.plan, self.state, stage, *again) && self.pay_retry(stage)
        };
        match again.filter(would) {
            Some(again) => {
                self.state.set(stage, Progress::Failed { again });
                self.failures.push((stage, fault));
            }
            None => {
                self.pipeline.faults.note(stage, &fault);
                self.end(stage, now, Progress::Gone, Ending::of(&fault));
            }
        }
    }

    /// Pays for another call of `stage` before its pause: nobody waits for what will not be paid for.
    fn pay_retry(&self, stage: Stage) -> bool {
        let extra = &self.pipeline.parts.extra_calls;
        match stage {
            Stage::Embed => extra.embed.pay_retry(),
            Stage::Vector => extra.vector.pay_retry(),
            Stage::Generate => extra.generate.pay_retry(),
            Stage::Normalize | Stage::Keyword | Stage::Template => false,
        }
    }

    /// How long to wait before another call of `stage`; `None` if it would fail the same way.
    fn pause_before_another(&self, stage: Stage, fault: &Fault) -> Option<Duration> {
        if let Some(after) = fault.retry_after() {
            return Some(after.max(self.jitter(stage)));
        }
        // Another model may be well where this one is closed to us.
        let closed = matches!(
            fault.kind(),
            FaultKind::BreakerOpen | FaultKind::Quota | FaultKind::Unavailable
        );
        let was_primary = self.state.draft.is_some_and(|draft| draft.model == Model::Primary);
        let has_other = self.plan.writers.lighter.is_some() && was_primary;
        (stage == Stage::Generate && closed && has_other).then_some(Duration::ZERO)
    }

    /// Spread over [`BACKOFF`] by the request's name, so that a replay waits as long.
    fn jitter(&self, stage: Stage) -> Duration {
        let mut hasher = DefaultHasher::new();
        (&self.request.name, stage, self.state.calls(stage)).hash(&mut hasher);
        let part = u32::try_from(hasher.finish() >> 32).unwrap_or(u32::MAX);
        BACKOFF.mul_f64(f64::from(part) / f64::from(u32::MAX))
    }

    pub(crate) fn forget_failure(&mut self, stage: Stage) -> Option<Fault> {
        let at = self.failures.iter().position(|(failed, _)| *failed == stage)?;
        Some(self.failures.swap_remove(at).1)
    }

    pub(crate) fn end(&mut self, stage: Stage, now: Instant, progress: Progress, ending: Ending) {
        if stage == Stage::Generate {
            self.drafts.close_all(now, ending.fate());
            self.closing = None;
        }
        let limit = policy::limit(&self.plan, self.state, stage);
        self.table.ended(stage, limit, now, ending.outcome, ending.reason);
        self.state.set(stage, progress);
    }
}
