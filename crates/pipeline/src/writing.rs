//! [`Writing`]: a generated text as it comes in.

use domain::{Delta, Fault, FinishReason, Outcome, Reason};

/// What a model has written so far.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    text: String,
    finish: Option<FinishReason>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

/// How a generation ended: what its stage reports, and whether its text is all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) reason: Option<Reason>,
}

impl Writing {
    /// Takes in one event of the stream; says how the generation ended once it has.
    pub(crate) fn take(&mut self, event: Option<&Result<Delta, Fault>>) -> Option<Ending> {
        match event {
            Some(Ok(delta)) => {
                self.add(delta);
                None
            }
            Some(Err(fault)) => {
                let reason = Some(fault.kind().reason());
                Some(Ending { outcome: Outcome::Failed, reason })
            }
            None => Some(self.ending()),
        }
    }

    fn add(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(more) => self.text.push_str(more),
            Delta::Finish(reason) => self.finish = Some(*reason),
            Delta::Usage { input_tokens, output_tokens } => {
                self.input_tokens = Some(*input_tokens);
                self.output_tokens = Some(*output_tokens);
            }
        }
    }

    /// How a stream that has ended by itself is to be read.
    fn ending(&self) -> Ending {
        match self.finish {
            Some(FinishReason::Stop) if !self.text.trim().is_empty() => {
                Ending { outcome: Outcome::Ok, reason: None }
            }
            Some(FinishReason::Length) => {
                Ending { outcome: Outcome::Cut, reason: Some(Reason::Truncated) }
            }
            // No text, or an end without a finish reason: the connection broke.
            Some(FinishReason::Stop) | None => {
                Ending { outcome: Outcome::Failed, reason: Some(Reason::Error) }
            }
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn tokens(&self) -> (Option<u64>, Option<u64>) {
        (self.input_tokens, self.output_tokens)
    }
}
