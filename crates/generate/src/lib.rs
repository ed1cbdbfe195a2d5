//! Answers written by a model, from passages.
//!
//! [`GeminiGenerator`] and [`OpenAiGenerator`] put a [`domain::Prompt`] into words, send it on their provider's
//! wire, and read the stream that comes back: nothing is taken for whole that did not say it was, and the
//! model's word that the passages do not answer never shows as text. What a model can do is data
//! ([`Model`]). Whether an answer is worth waiting for is decided elsewhere.

mod gemini;
mod models;
mod openai;
mod prompt;
mod reply;

pub use gemini::GeminiGenerator;
pub use models::{
    Capabilities, Depth, Knob, Level, MaxTokensField, Model, ModelError, ModelSettings, Prices,
    Thinking, ThinkingSettings,
};
pub use openai::OpenAiGenerator;
pub use prompt::{NO_ANSWER, Written, estimated_tokens, write_prompt};
