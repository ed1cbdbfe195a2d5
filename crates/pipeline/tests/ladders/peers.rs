//! Scripted stand-ins for the far sides. Times are milliseconds on the paused clock.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use domain::{
    Call, Delta, DeltaStream, Embedder, EmbedderId, Fault, FaultKind, Filter, FinishReason,
    GenerateLimits, GenerationId, Generator, Neighbour, PassageId, Prompt, Role, Vector,
    VectorIndex,
};
use futures_util::{StreamExt, stream};
use tokio::time::sleep;

/// How the keyword search behaves. It is the real one: it is slow when no core is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keywords {
    Hits,
    /// The question shares no word with the collection.
    Nothing,
    /// The only core is taken for this long.
    Late,
    Stalled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Embedding {
    Prompt,
    Slow,
    Stalled,
    Failing,
    /// Asks to be left alone for longer than any budget here.
    RateLimited,
    /// Fails once, in a way that passes.
    Flaky,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vectors {
    Prompt,
    Slow,
    Stalled,
    Failing,
    /// Answers, with nothing.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    /// No model is configured.
    Absent,
    Prompt,
    /// Writes well, but its last sentence comes too late for any budget here.
    Endless,
    Stalled,
    Failing,
    /// Fails once before a word, in a way that passes.
    Flaky,
    /// Fails after a whole sentence.
    BreakingOff,
    /// Ends without saying that it has finished.
    Unfinished,
    /// Ends properly, having said nothing.
    Silent,
    /// Writes what no passage says.
    Unsupported,
    /// Says that the passages do not answer.
    Declined,
    /// Is blocked after a whole sentence.
    Blocked,
    /// Is cut by its token cap in the second sentence.
    Truncated,
    /// Writes on and on.
    Runaway,
    /// Ends well, but its stream stays open.
    Lingering,
    /// The first call is silent, later ones write well.
    SlowStart,
}

impl Keywords {
    pub(crate) const ALL: [Self; 4] = [Self::Hits, Self::Nothing, Self::Late, Self::Stalled];
    pub(crate) const LATE_MS: u64 = 150;
}

impl Embedding {
    pub(crate) const ALL: [Self; 6] =
        [Self::Prompt, Self::Slow, Self::Stalled, Self::Failing, Self::RateLimited, Self::Flaky];
    pub(crate) const PROMPT_MS: u64 = 20;
    pub(crate) const SLOW_MS: u64 = 1200;
    pub(crate) const FAILING_MS: u64 = 30;
}

impl Vectors {
    pub(crate) const ALL: [Self; 5] =
        [Self::Prompt, Self::Slow, Self::Stalled, Self::Failing, Self::Nothing];
    pub(crate) const PROMPT_MS: u64 = 10;
    pub(crate) const SLOW_MS: u64 = 1500;
    pub(crate) const FAILING_MS: u64 = 15;
}

impl Writing {
    pub(crate) const ALL: [Self; 16] = [
        Self::Absent,
        Self::Prompt,
        Self::Endless,
        Self::Stalled,
        Self::Failing,
        Self::Flaky,
        Self::BreakingOff,
        Self::Unfinished,
        Self::Silent,
        Self::Unsupported,
        Self::Declined,
        Self::Blocked,
        Self::Truncated,
        Self::Runaway,
        Self::Lingering,
        Self::SlowStart,
    ];
    pub(crate) const STEP_MS: u64 = 100;
}

#[derive(Debug, thiserror::Error)]
#[error("scripted")]
struct Scripted;

/// Longer than any jitter, so that what is tested does not depend on it.
pub(crate) const PAUSE: Duration = Duration::from_millis(60);

fn fault(kind: FaultKind) -> Fault {
    Fault::new(kind, Scripted)
}

async fn after(ms: u64) {
    sleep(Duration::from_millis(ms)).await;
}

#[derive(Debug)]
pub(crate) struct ScriptedEmbedder {
    pub(crate) id: EmbedderId,
    pub(crate) script: Embedding,
}

#[async_trait]
impl Embedder for ScriptedEmbedder {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    fn covers(&self, _text: &str) -> bool {
        true
    }

    async fn embed(&self, _: &[String], _: Role, call: &Call) -> Result<Vec<Vector>, Fault> {
        match self.script {
            Embedding::Prompt => after(Embedding::PROMPT_MS).await,
            Embedding::Slow => after(Embedding::SLOW_MS).await,
            Embedding::Stalled => std::future::pending().await,
            Embedding::Failing => {
                after(Embedding::FAILING_MS).await;
                return Err(fault(FaultKind::Error));
            }
            Embedding::RateLimited => {
                after(Embedding::FAILING_MS).await;
                return Err(fault(FaultKind::RateLimited).passing(Duration::from_secs(36)));
            }
            Embedding::Flaky if call.attempt == 1 => {
                after(Embedding::FAILING_MS).await;
                return Err(fault(FaultKind::Error).passing(PAUSE));
            }
            Embedding::Flaky => after(Embedding::PROMPT_MS).await,
        }
        Ok(vec![Vector::normalized(vec![1.0, 0.0]).expect("a direction")])
    }
}

#[derive(Debug)]
pub(crate) struct ScriptedIndex {
    pub(crate) script: Vectors,
    pub(crate) passage: PassageId,
}

#[async_trait]
impl VectorIndex for ScriptedIndex {
    async fn nearest(
        &self,
        _: &GenerationId,
        _: &Vector,
        _: &Filter,
        _: usize,
        _: &Call,
    ) -> Result<Vec<Neighbour>, Fault> {
        match self.script {
            Vectors::Prompt => after(Vectors::PROMPT_MS).await,
            Vectors::Slow => after(Vectors::SLOW_MS).await,
            Vectors::Stalled => std::future::pending().await,
            Vectors::Failing => {
                after(Vectors::FAILING_MS).await;
                return Err(fault(FaultKind::Error));
            }
            Vectors::Nothing => {
                after(Vectors::PROMPT_MS).await;
                return Ok(Vec::new());
            }
        }
        Ok(vec![Neighbour { passage: self.passage, cosine: 0.9 }])
    }
}

#[derive(Debug)]
pub(crate) struct ScriptedModel {
    pub(crate) script: Writing,
    pub(crate) calls: AtomicU32,
}

impl Generator for ScriptedModel {
    fn model(&self) -> &str {
        "scripted"
    }

    fn input_tokens(&self, _: &Prompt) -> u64 {
        100
    }

    fn stream(&self, _: Prompt, _: GenerateLimits, call: Call) -> DeltaStream {
        assert_eq!(self.calls.fetch_add(1, Ordering::Relaxed) + 1, call.attempt);
        let text = |text: &str| Ok(Delta::Text(text.to_owned()));
        let stop = || Ok(Delta::Finish(FinishReason::Stop));
        let first = || text("Open Settings and choose Reset password. [1] ");
        let second = || text("A link to reset the password arrives by mail. [1]");
        let events: Vec<Result<Delta, Fault>> = match self.script {
            Writing::Absent | Writing::Stalled => Vec::new(),
            Writing::SlowStart if call.attempt == 1 => Vec::new(),
            Writing::Flaky if call.attempt == 1 => {
                vec![Err(fault(FaultKind::Error).passing(PAUSE))]
            }
            Writing::Prompt | Writing::Lingering | Writing::SlowStart | Writing::Flaky => {
                vec![first(), second(), stop()]
            }
            Writing::Declined => vec![Ok(Delta::Finish(FinishReason::Declined))],
            Writing::Blocked => {
                vec![first(), text("A link"), Err(fault(FaultKind::Blocked))]
            }
            Writing::Runaway => {
                vec![
                    first(),
                    text(&"A link to reset the password arrives by mail. [1] ".repeat(2000)),
                ]
            }
            Writing::Truncated => {
                vec![first(), text("A link"), Ok(Delta::Finish(FinishReason::Length))]
            }
            Writing::Endless => vec![first(), text("A link to")],
            Writing::Failing => vec![Err(fault(FaultKind::Error))],
            Writing::BreakingOff => vec![first(), text("A link"), Err(fault(FaultKind::Error))],
            Writing::Unfinished => vec![first(), text("A li")],
            Writing::Silent => vec![stop()],
            Writing::Unsupported => vec![text("Feed dogs twice daily. "), stop()],
        };
        let paced = stream::iter(events).then(|event| async move {
            after(Writing::STEP_MS).await;
            event
        });
        match self.script {
            Writing::Endless | Writing::Stalled | Writing::Lingering => {
                paced.chain(stream::pending()).boxed()
            }
            Writing::SlowStart if call.attempt == 1 => paced.chain(stream::pending()).boxed(),
            Writing::Absent
            | Writing::Prompt
            | Writing::Failing
            | Writing::BreakingOff
            | Writing::Unfinished
            | Writing::Silent
            | Writing::Unsupported
            | Writing::Declined
            | Writing::Blocked
            | Writing::Truncated
            | Writing::Runaway
            | Writing::SlowStart
            | Writing::Flaky => paced.boxed(),
        }
    }
}
