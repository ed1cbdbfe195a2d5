//! The words every other crate shares, and the seams between them.
//!
//! Types here are plain values; nothing does I/O. A seam is a trait with (at least) two real
//! implementations behind it, object-safe, with the deadline in every call.

mod answer;
mod app;
mod article;
mod call;
mod causes;
mod fault;
mod filter;
mod generation;
mod hit;
mod language;
mod passage;
mod question;
mod seam;
mod stage;
mod vector;

pub use answer::{Answer, AnswerKind, Citation, ModelUse};
pub use app::{AppName, InvalidAppName};
pub use article::{Article, ArticleId, ContentHash, Section};
pub use call::{Call, RequestName};
pub use causes::Causes;
pub use fault::{BoxError, Fault, FaultKind};
pub use filter::Filter;
pub use generation::GenerationId;
pub use hit::{Hit, Neighbour};
pub use language::{InvalidLanguage, Language, Script};
pub use passage::{InvalidPassageId, Passage, PassageId};
pub use question::Question;
pub use seam::{
    Delta, DeltaStream, Embedder, FinishReason, GenerateLimits, Generator, Prompt, Role, Usage,
    VectorIndex,
};
pub use stage::{Degradation, Outcome, Reason, Stage, StageReport};
pub use vector::{EmbedderId, Vector};
