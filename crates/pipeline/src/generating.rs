//! The driver's part about models that write.
//!
//! A silent call goes on beside the one that was made in its place: whichever finishes first, or has told the reader
//! something, is the answer, and the other is dropped. Only a text ends the race, never a failure.

use domain::{Delta, Fault, FaultKind, Outcome, Stage};
use template::citations::{self, Checked};
use thiserror::Error;
use tokio::time::{Duration, Instant};

use crate::calls::Fate;
use crate::drive::Run;
use crate::flights::Flights;
use crate::policy::{Progress, Why, Write};
use crate::writing::Writing;

/// A model that has finished is given this long to tell its tokens and close the stream.
const CLOSING: Duration = Duration::from_millis(100);

/// Calls of models that are under way at once, at most.
const MOST_AT_ONCE: usize = 2;

/// A generation's stream ended without a word.
#[derive(Debug, Error)]
#[error("the stream ended before the model said that it had finished")]
struct BrokenOff;

impl Run<'_> {
    /// Calls a model as the policy says, if that is paid for.
    pub(crate) fn write(&mut self, write: Write, now: Instant, flights: &mut Flights) {
        let Some(models) = &self.pipeline.parts.models else { return };
        if !self.pay_for_writing(write.why) {
            return;
        }
        if self.drafts.under_way().len() == MOST_AT_ONCE {
            self.drop_oldest(now, flights);
        }
        self.forget_failure(Stage::Generate);
        self.state.call(Stage::Generate);
        if write.why == Why::First {
            self.table.started(Stage::Generate, now);
        }
        let generator = models.get(write.model);
        let call = self.call(Stage::Generate, write.until, now);
        let attempt = call.attempt;
        self.drafts.begin(write.model, generator.model(), attempt, write.limits, now);
        flights.start_generate(attempt, generator.stream(self.prompt(), write.limits, call));
        self.state.draft = self.drafts.state();
    }

    /// A first call fills the budget for extra ones; a replacement draws on it. `false` if somebody else has just
    /// emptied it.
    fn pay_for_writing(&self, why: Why) -> bool {
        let extra = &self.pipeline.parts.extra_calls.generate;
        match why {
            Why::First => {
                extra.first_call();
                true
            }
            // Paid for when it was planned.
            Why::Retry => true,
            Why::Replace => extra.pay_replacement(),
        }
    }

    fn drop_oldest(&mut self, now: Instant, flights: &mut Flights) {
        if let Some(oldest) = self.drafts.under_way().first().copied() {
            self.drop_writer(oldest, now, flights);
        }
    }

    fn drop_writer(&mut self, attempt: u32, now: Instant, flights: &mut Flights) {
        flights.abandon_writer(attempt);
        self.drafts.close(attempt, now, Fate::Replaced);
    }

    /// Leaves call `attempt` alone in the field.
    fn drop_rivals(&mut self, attempt: u32, now: Instant, flights: &mut Flights) {
        for rival in self.drafts.under_way() {
            if rival != attempt {
                self.drop_writer(rival, now, flights);
            }
        }
    }

    /// Takes in what came of call `attempt`.
    pub(crate) fn take_writing(
        &mut self,
        attempt: u32,
        event: Option<Result<Delta, Fault>>,
        now: Instant,
        flights: &mut Flights,
    ) {
        match event {
            Some(Ok(delta)) => self.take_delta(attempt, delta, now, flights),
            Some(Err(fault)) => self.broken(attempt, fault, now, flights),
            None => {
                let fault = Fault::new(FaultKind::Error, BrokenOff).passing(Duration::ZERO);
                self.broken(attempt, fault, now, flights);
            }
        }
        self.state.draft = self.drafts.state().or(self.state.draft);
    }

    fn take_delta(&mut self, attempt: u32, delta: Delta, now: Instant, flights: &mut Flights) {
        let (is_text, is_finish) =
            (matches!(delta, Delta::Text(_)), matches!(delta, Delta::Finish(_)));
        self.drafts.add(attempt, delta, now);
        let is_over = is_text && self.drafts.writing(attempt).is_some_and(Writing::is_finished);
        if is_over {
            // It has written far more than it was asked for and would go on.
            self.end_writing(attempt, now, flights);
            return;
        }
        if is_text {
            self.tell(attempt, now, flights);
        }
        if is_finish {
            self.closing = Some(now + CLOSING);
            self.drop_rivals(attempt, now, flights);
        }
    }

    /// Lets the reader have the sentences that are whole; then there is no way back to another text.
    fn tell(&mut self, attempt: u32, now: Instant, flights: &mut Flights) {
        let Some(writing) = self.drafts.writing(attempt) else { return };
        let passages = self.passages();
        let analyzer = self.request.generation.keyword().analyzer();
        let grounds = &self.pipeline.grounds;
        let check =
            |text: &str| -> Checked { citations::check(text, &passages, &analyzer, grounds) };
        self.telling.so_far(writing.text(), check);
        if self.telling.has_told() {
            self.state.told = true;
            self.drop_rivals(attempt, now, flights);
        }
    }

    /// Call `attempt` has ended, in whatever way. One that had finished before is none the worse for it.
    fn broken(&mut self, attempt: u32, fault: Fault, now: Instant, flights: &mut Flights) {
        flights.abandon_writer(attempt);
        if self.drafts.writing(attempt).is_some_and(Writing::is_finished) {
            self.end_writing(attempt, now, flights);
            return;
        }
        self.drafts.close(attempt, now, Fate::Lost(fault.kind().reason()));
        if self.drafts.under_way().is_empty() {
            self.failed(Stage::Generate, fault, now);
        } else {
            self.pipeline.faults.note(Stage::Generate, &fault);
        }
    }

    /// Takes a generation that has finished as it is once it has had its time to close.
    pub(crate) fn close_in_time(&mut self, now: Instant, flights: &mut Flights) {
        if self.closing.is_some_and(|closing| closing <= now) {
            match self.drafts.finished() {
                Some(attempt) => self.end_writing(attempt, now, flights),
                None => self.closing = None,
            }
        }
    }

    /// Call `attempt` has finished, for better or worse.
    pub(crate) fn end_writing(&mut self, attempt: u32, now: Instant, flights: &mut Flights) {
        self.drop_rivals(attempt, now, flights);
        flights.abandon_writer(attempt);
        let Some(ending) = self.drafts.writing(attempt).map(Writing::ending) else { return };
        let progress = match ending.outcome {
            Outcome::Ok => Progress::Delivered { useful: true },
            Outcome::Skipped | Outcome::Cut | Outcome::Failed => Progress::Gone,
        };
        self.end(Stage::Generate, now, progress, ending);
    }
}
