//! [`Tally`]: what models were called for and what was wasted, since the start of the process.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::calls::{Fate, ModelCall};

/// Counters of all requests. Relaxed: each is read by itself.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    calls: AtomicU64,
    replaced: AtomicU64,
    lost: AtomicU64,
    abandoned: AtomicU64,
    input_tokens: AtomicU64,
    output_tokens: AtomicU64,
    wasted_input_tokens: AtomicU64,
    wasted_output_tokens: AtomicU64,
}

/// Calls of models and their tokens so far, as far as providers have told us of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelTotals {
    pub calls: u64,
    /// Given up for want of a first token.
    pub replaced: u64,
    /// Ended without a text that could be used.
    pub lost: u64,
    /// Dropped because nobody waited for the answer any more.
    pub abandoned: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub wasted_input_tokens: u64,
    pub wasted_output_tokens: u64,
}

impl Tally {
    pub(crate) fn note(&self, call: &ModelCall) {
        let add = |counter: &AtomicU64, amount: u64| {
            counter.fetch_add(amount, Ordering::Relaxed);
        };
        add(&self.calls, 1);
        match call.fate {
            Fate::Used => {}
            Fate::Replaced => add(&self.replaced, 1),
            Fate::Lost(_) => add(&self.lost, 1),
            Fate::Abandoned => add(&self.abandoned, 1),
        }
        let (usage, wasted) = (call.usage.unwrap_or_default(), call.wasted());
        add(&self.input_tokens, usage.input_tokens);
        add(&self.output_tokens, usage.output_tokens);
        add(&self.wasted_input_tokens, wasted.input_tokens);
        add(&self.wasted_output_tokens, wasted.output_tokens);
    }

    pub(crate) fn totals(&self) -> ModelTotals {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ModelTotals {
            calls: read(&self.calls),
            replaced: read(&self.replaced),
            lost: read(&self.lost),
            abandoned: read(&self.abandoned),
            input_tokens: read(&self.input_tokens),
            output_tokens: read(&self.output_tokens),
            wasted_input_tokens: read(&self.wasted_input_tokens),
            wasted_output_tokens: read(&self.wasted_output_tokens),
        }
    }
}
