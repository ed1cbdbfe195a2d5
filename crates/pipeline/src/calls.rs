//! [`ModelCall`]: what became of each call of a model.

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
