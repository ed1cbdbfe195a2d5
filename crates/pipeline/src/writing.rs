//! [`Writing`]: a generated text as it comes in.

use domain::{Delta, Fault, FinishReason, Outcome, Reason, Usage};

/// What a model has written so far.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    text: String,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    served: Option<String>,
}

/// How a generation ended: what its stage reports, and whether its text is all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) reason: Option<Reason>,
}

impl Writing {
    /// Takes in one event of the stream.
    pub(crate) fn add(&mut self, delta: Delta) {
        match delta {
            Delta::Text(more) => self.text.push_str(&more),
            Delta::Finish(reason) => self.finish = Some(reason),
            Delta::Usage(usage) => self.usage = Some(usage),
            Delta::Served(model) => self.served = Some(model),
        }
    }

    /// How a stream that has ended by itself is to be read.
    pub(crate) fn ending(&self) -> Ending {
        match self.finish {
            Some(FinishReason::Stop) if !self.text.trim().is_empty() => {
                Ending { outcome: Outcome::Ok, reason: None }
            }
            Some(FinishReason::Length) => {
                Ending { outcome: Outcome::Cut, reason: Some(Reason::Truncated) }
            }
            Some(FinishReason::Declined) => {
                Ending { outcome: Outcome::Failed, reason: Some(Reason::Declined) }
            }
            // No text, or an end without a finish reason: the connection broke.
            Some(FinishReason::Stop) | None => Ending::BROKEN,
        }
    }

    /// Cuts the text to `most` bytes; whether there was anything to cut.
    pub(crate) fn truncate(&mut self, most: usize) -> bool {
        let is_longer = self.text.len() > most;
        if is_longer {
            let end = (0..=most).rev().find(|end| self.text.is_char_boundary(*end));
            self.text.truncate(end.unwrap_or(0));
        }
        is_longer
    }

    /// Whether the model said that it has finished, in whatever way.
    pub(crate) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// What has been used, where a provider that has not counted the text yet is helped out: some do not before
    /// the second piece.
    pub(crate) fn usage_or_estimate(&self) -> Option<Usage> {
        match self.usage {
            Some(usage) if usage.output_tokens > 0 || self.text.is_empty() => Some(usage),
            None if self.text.is_empty() => None,
            usage => {
                Some(Usage { output_tokens: about_tokens(&self.text), ..usage.unwrap_or_default() })
            }
        }
    }

    /// The model that wrote, where it is not the one that was asked.
    pub(crate) fn served(&self) -> Option<&str> {
        self.served.as_deref()
    }
}

/// About four Latin letters a token, and one character of other scripts: what providers publish as a rule of
/// thumb.
fn about_tokens(text: &str) -> u64 {
    let quarters: u64 = text.chars().map(|c| if c.is_ascii() { 1 } else { 4 }).sum();
    quarters.div_ceil(4)
}

impl Ending {
    pub(crate) const WELL: Self = Self { outcome: Outcome::Ok, reason: None };
    pub(crate) const OUT_OF_TIME: Self =
        Self { outcome: Outcome::Cut, reason: Some(Reason::Timeout) };
    pub(crate) const BROKEN: Self = Self { outcome: Outcome::Failed, reason: Some(Reason::Error) };

    pub(crate) fn of(fault: &Fault) -> Self {
        let reason = fault.kind().reason();
        let outcome = if reason == Reason::Timeout { Outcome::Cut } else { Outcome::Failed };
        Self { outcome, reason: Some(reason) }
    }
}
