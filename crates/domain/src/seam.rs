//! The seams: what the pipeline asks of others, without knowing who answers.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;

use crate::{
    Call, EmbedderId, Fault, Filter, GenerationId, Language, Neighbour, Passage, Question, Vector,
};

/// What a text is embedded as; some models treat the two differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Query,
    Passage,
}

/// Turns texts into vectors.
#[async_trait]
pub trait Embedder: Send + Sync + fmt::Debug {
    /// The model; stored with an index, because vectors of two models never mix.
    fn id(&self) -> &EmbedderId;

    /// Whether the model knows enough of `text`'s pieces for its vector to mean anything. Where it does
    /// not, keywords alone answer, and nothing has failed.
    fn covers(&self, text: &str) -> bool;

    /// One vector per text, in order.
    ///
    /// # Errors
    ///
    /// A [`Fault`]; never part of the vectors.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future abandons the work.
    async fn embed(&self, texts: &[String], role: Role, call: &Call) -> Result<Vec<Vector>, Fault>;
}

/// Finds the nearest passages of one generation.
#[async_trait]
pub trait VectorIndex: Send + Sync + fmt::Debug {
    /// Whether looking up goes over a network, and so needs a share of the budget to match.
    fn is_remote(&self) -> bool {
        false
    }

    /// At most `k` passages that `filter` admits, nearest first; equal cosines in order of passage id.
    ///
    /// # Errors
    ///
    /// A [`Fault`]; a generation that is gone is [`FaultKind::Unavailable`](crate::FaultKind::Unavailable).
    async fn nearest(
        &self,
        generation: &GenerationId,
        vector: &Vector,
        filter: &Filter,
        k: usize,
        call: &Call,
    ) -> Result<Vec<Neighbour>, Fault>;
}

/// What a model is asked, before any provider's wording.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub question: Question,
    /// Best first; the model cites them as `[1]`, `[2]`, …
    pub passages: Vec<Arc<Passage>>,
    pub answer_lang: Language,
}

/// Bounds on one generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerateLimits {
    /// The output is cut there, thinking included.
    pub max_output_tokens: u32,
    /// How long an answer is asked for, so that it is whole rather than cut.
    pub answer_tokens: u32,
    /// Whether the model may think first, where it can.
    pub reasoning: bool,
}

/// One event of a generation's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// More text, never empty.
    Text(String),
    /// The model is done; nothing follows but usage.
    Finish(FinishReason),
    /// Tokens so far, each time from the start; the last one counts.
    Usage(Usage),
    /// The model that writes, where it is not the one asked for.
    Served(String),
}

/// Tokens of one call, as they will be billed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Those read from a cache included.
    pub input_tokens: u64,
    /// Of the input, read from the provider's cache.
    pub cached_tokens: u64,
    /// Text and thinking.
    pub output_tokens: u64,
    /// Of the output, thinking.
    pub thinking_tokens: u64,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// It had said all.
    Stop,
    /// Its token cap was reached.
    Length,
    /// It says that the passages do not answer.
    Declined,
}

/// A generation under way; dropping it closes the connection to the model.
pub type DeltaStream = BoxStream<'static, Result<Delta, Fault>>;

/// Writes answers.
pub trait Generator: Send + Sync + fmt::Debug {
    /// The configured model's name.
    fn model(&self) -> &str;

    /// About how many tokens the model would have to read for `prompt`.
    fn input_tokens(&self, prompt: &Prompt) -> u64;

    /// What `usage` costs, in millionths of a US dollar; `None` where no price is known.
    fn cost_micros(&self, usage: Usage) -> Option<u64> {
        let _unpriced = usage;
        None
    }

    /// Starts writing, by the call's deadline at the latest. A stream that ends without [`Delta::Finish`] was cut
    /// off; the first `Err` ends it.
    fn stream(&self, prompt: Prompt, limits: GenerateLimits, call: Call) -> DeltaStream;
}
