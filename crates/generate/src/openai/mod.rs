//! [`OpenAiGenerator`]: models behind any server that speaks OpenAI's chat completions.

mod request;
mod response;

use std::sync::Arc;

use domain::{Call, DeltaStream, GenerateLimits, Generator, Prompt, Usage};
use upstream::Upstream;

use crate::models::{Model, ModelError, Thinking};
use crate::prompt::write_prompt;
use crate::reply::{Request, deltas};

/// Asks a model with `chat/completions`, streamed.
#[derive(Clone, Debug)]
pub struct OpenAiGenerator {
    upstream: Arc<Upstream>,
    model: Model,
}

impl OpenAiGenerator {
    /// A generator that asks `model` at `upstream`, whose base ends where `/chat/completions` begins, mostly in `/v1`.
    ///
    /// # Errors
    ///
    /// [`ModelError::Wire`] if the model's settings cannot be said on this wire.
    pub fn new(upstream: Arc<Upstream>, model: Model) -> Result<Self, ModelError> {
        match model.capabilities().thinking {
            Thinking::Budget { .. } => Err(ModelError::Wire {
                model: model.name().to_owned(),
                knob: "budget",
                instead: "Gemini's own",
            }),
            Thinking::None | Thinking::Level { .. } => Ok(Self { upstream, model }),
        }
    }
}

impl Generator for OpenAiGenerator {
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
            path: "/chat/completions".to_owned(),
            body: request::body(&self.model, &written, limits),
            model: self.model.name().to_owned(),
            read: response::chunk,
        };
        deltas(request, call)
    }
}
