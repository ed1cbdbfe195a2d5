//! [`ModelCall`]: what became of each call of a model.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{Reason, Usage};

/// One call of a model within one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    /// As configured.
    pub model: String,
    /// From 1.
    pub attempt: u32,
    /// From the request's start to the call.
    pub started: Duration,
    pub elapsed: Duration,
    /// From the call to its first piece of text.
    pub first_token: Option<Duration>,
    pub fate: Fate,
    /// What the provider had said of tokens when the call ended, and if it had not counted a text that had come
    /// yet, an estimate of that; `None` if nothing is known.
    pub usage: Option<Usage>,
    /// What that costs, in millionths of a US dollar, where a price is known.
    pub cost_micros: Option<u64>,
}

/// The calls of a request that was dropped midway, for whoever holds a clone: they have cost what they cost.
#[derive(Clone, Debug, Default)]
pub struct AbandonedCalls(Arc<Mutex<Vec<ModelCall>>>);

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its text is the answer.
    Used,
    /// Another call took over, because no token had come.
    Replaced,
    /// It ended without a text that could be used.
    Lost(Reason),
    /// Nobody waited for the answer any more.
    Abandoned,
}

impl ModelCall {
    /// Tokens that were billed for nothing.
    #[must_use]
    pub fn wasted(&self) -> Usage {
        match self.fate {
            Fate::Used => Usage::default(),
            Fate::Replaced | Fate::Lost(_) | Fate::Abandoned => self.usage.unwrap_or_default(),
        }
    }
}

impl AbandonedCalls {
    /// Those there are, in order; they are told once.
    #[must_use]
    pub fn take(&self) -> Vec<ModelCall> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set(&self, calls: Vec<ModelCall>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = calls;
    }
}
