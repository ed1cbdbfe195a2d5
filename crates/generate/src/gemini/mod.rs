//! [`GeminiGenerator`]: models behind Gemini's own wire.

mod request;
mod response;

use std::sync::Arc;

use domain::{Call, DeltaStream, GenerateLimits, Generator, Prompt, Usage};
use upstream::Upstream;

use crate::models::{Level, Model, ModelError, Thinking};
use crate::prompt::write_prompt;
use crate::reply::{Request, deltas};

/// Asks a Gemini model, with `streamGenerateContent`.
#[derive(Clone, Debug)]
pub struct GeminiGenerator {
    upstream: Arc<Upstream>,
    model: Model,
}

impl GeminiGenerator {
    /// A generator that asks `model` at `upstream`, whose base has no version in its path.
    ///
    /// # Errors
    ///
    /// [`ModelError::Wire`] if the model's settings cannot be said on this wire.
    pub fn new(upstream: Arc<Upstream>, model: Model) -> Result<Self, ModelError> {
        match model.capabilities().thinking {
            Thinking::Level { least: Level::None, .. }
            | Thinking::Level { reasoning: Level::None, .. } => Err(ModelError::Wire {
                model: model.name().to_owned(),
                knob: "level of none",
                instead: "minimal or low",
            }),
            Thinking::None | Thinking::Budget { .. } | Thinking::Level { .. } => {
                Ok(Self { upstream, model })
            }
        }
    }

    fn path(&self) -> String {
        let name = self.model.name();
        let collection = if name.contains('/') { "" } else { "models/" };
        format!("/v1beta/{collection}{name}:streamGenerateContent?alt=sse")
    }
}

impl Generator for GeminiGenerator {
    fn model(&self) -> &str {
        self.model.name()
    }

    fn input_tokens(&self, prompt: &Prompt) -> u64 {
        self.model.input_tokens(prompt)
    }

    fn cost_micros(&self, usage: Usage) -> Option<u64> {
        self.model.cost_micros(usage)
    }

    fn stream(&self, prompt: Prompt, limits: GenerateLimits, call: Call) -> DeltaStream {
        let limit = self.model.capabilities().input_token_limit;
        let written = write_prompt(&prompt, limits.answer_tokens, limit);
        let request = Request {
            upstream: Arc::clone(&self.upstream),
            path: self.path(),
            body: request::body(&self.model, &written, limits),
            model: self.model.name().to_owned(),
            read: response::chunk,
        };
        deltas(request, call)
    }
}
