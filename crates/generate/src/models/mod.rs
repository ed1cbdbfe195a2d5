//! Models as data: what each can do, costs, and is likely to take.

mod error;
mod price;
mod settings;
mod table;
mod thinking;

use std::time::Duration;

use domain::{GenerateLimits, Prompt, Usage};

use crate::prompt::write_prompt;
pub use error::ModelError;
pub use price::Prices;
pub use settings::{MaxTokensField, ModelSettings};
pub use thinking::{Depth, Knob, Level, Thinking, ThinkingSettings};

/// For counting a prompt's tokens any length will do: it makes a number of the same size.
const TYPICAL_ANSWER_TOKENS: u32 = 200;

/// A model that can be asked: its name, and what may be sent to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    name: String,
    capabilities: Capabilities,
}

/// What may be sent to a model, and what is expected of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Capabilities {
    pub thinking: Thinking,
    /// Whether the provider keeps a prefix of ours under a name.
    pub explicit_cache: bool,
    /// Sent if it is set, which it can only be where the model takes it.
    pub temperature: Option<f64>,
    /// The most it writes in one call.
    pub max_output_tokens: Option<u32>,
    /// How an OpenAI-compatible server calls the cap on output.
    pub max_tokens_field: MaxTokensField,
    /// The longest prompt it is sent, which may be far below what it could read.
    pub input_token_limit: u64,
    pub prices: Option<Prices>,
    /// When its first token is expected, until it has been measured.
    pub first_token: Duration,
    /// How fast it is expected to write, until it has been measured.
    pub tokens_per_second: f64,
}

impl Model {
    /// What `usage` costs, in millionths of a US dollar, rounded up; `None` where no price is known.
    pub(crate) fn cost_micros(&self, usage: Usage) -> Option<u64> {
        let micros = (self.capabilities.prices?.cost(usage) * 1e6).ceil();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast from float saturates, and no price is negative"
        )]
        let micros = micros as u64;
        Some(micros)
    }

    /// The model called `name`: what the table says of it, overlaid with `settings`. Of a model that neither
    /// knows nothing optional is assumed.
    ///
    /// # Errors
    ///
    /// [`ModelError`] if a setting contradicts what is known of the model, or the name cannot be one.
    pub fn resolve(name: &str, settings: &ModelSettings) -> Result<Self, ModelError> {
        let name = name.trim();
        let speakable = |c: char| c.is_ascii_alphanumeric() || "-_.:/@".contains(c);
        if name.is_empty() || !name.chars().all(speakable) || name.contains("..") {
            return Err(ModelError::Name { name: name.to_owned() });
        }
        let known = table::row(name).cloned().unwrap_or_default();
        let capabilities = settings::resolved(name, &known, settings)?;
        Ok(Self { name: name.to_owned(), capabilities })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// About how many tokens it would have to read for `prompt`.
    pub(crate) fn input_tokens(&self, prompt: &Prompt) -> u64 {
        let limit = self.capabilities.input_token_limit;
        write_prompt(prompt, TYPICAL_ANSWER_TOKENS, limit).tokens()
    }

    /// Where its output is cut.
    pub(crate) fn output_cap(&self, limits: GenerateLimits) -> u32 {
        let most = self.capabilities.max_output_tokens.unwrap_or(u32::MAX);
        limits.max_output_tokens.min(most)
    }
}

#[cfg(test)]
mod tests;
