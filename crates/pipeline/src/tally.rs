//! [`Tally`]: what models were called for and what was wasted, since the start of the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::Usage;

use crate::calls::{Fate, ModelCall};

/// Counters of all requests.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<Totals>);

#[derive(Debug, Default)]
struct Totals {
    all: ModelTotals,
    by_model: BTreeMap<String, ModelTotals>,
}

/// Calls of a model, or of several, and their tokens so far, as far as providers have told us of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelTotals {
    pub calls: u64,
    /// Their text became the answer.
    pub used: u64,
    /// Given up for want of a first token.
    pub replaced: u64,
    /// Ended without a text that could be used.
    pub lost: u64,
    /// Dropped because nobody waited for the answer any more.
    pub abandoned: u64,
    pub input_tokens: u64,
    /// Of the input tokens.
    pub cached_tokens: u64,
    pub output_tokens: u64,
    /// Of the output tokens.
    pub thinking_tokens: u64,
    pub wasted_input_tokens: u64,
    pub wasted_output_tokens: u64,
    /// Millionths of a US dollar, of the calls whose price is known.
    pub cost_micros: u64,
    /// Of that, what went into calls whose text was not used.
    pub wasted_cost_micros: u64,
}

impl ModelTotals {
    fn note(&mut self, call: &ModelCall) {
        self.calls += 1;
        let (usage, wasted) = (call.usage.unwrap_or_default(), call.wasted());
        let cost = call.cost_micros.unwrap_or(0);
        match call.fate {
            Fate::Used => self.used += 1,
            Fate::Replaced => self.replaced += 1,
            Fate::Lost(_) => self.lost += 1,
            Fate::Abandoned => self.abandoned += 1,
        }
        self.add_tokens(usage, wasted);
        self.cost_micros = self.cost_micros.saturating_add(cost);
        if call.fate != Fate::Used {
            self.wasted_cost_micros = self.wasted_cost_micros.saturating_add(cost);
        }
    }

    /// A provider may say any number.
    fn add_tokens(&mut self, usage: Usage, wasted: Usage) {
        for (sum, more) in [
            (&mut self.input_tokens, usage.input_tokens),
            (&mut self.cached_tokens, usage.cached_tokens),
            (&mut self.output_tokens, usage.output_tokens),
            (&mut self.thinking_tokens, usage.thinking_tokens),
            (&mut self.wasted_input_tokens, wasted.input_tokens),
            (&mut self.wasted_output_tokens, wasted.output_tokens),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

impl Tally {
    pub(crate) fn note(&self, call: &ModelCall) {
        let mut totals = self.lock();
        totals.all.note(call);
        match totals.by_model.get_mut(&call.model) {
            Some(of_model) => of_model.note(call),
            None => totals.by_model.entry(call.model.clone()).or_default().note(call),
        }
    }

    pub(crate) fn totals(&self) -> ModelTotals {
        self.lock().all
    }

    pub(crate) fn by_model(&self) -> BTreeMap<String, ModelTotals> {
        self.lock().by_model.clone()
    }

    // A panic between two additions leaves one call half counted, which hurts nobody.
    fn lock(&self) -> MutexGuard<'_, Totals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
