//! An upstream model API that is not there.
//!
//! It speaks Gemini's and OpenAI's REST APIs on a port of this machine, with latencies drawn from the field, with
//! any fault on demand, and with a journal of what became of every call. Replies are made from the passages in the
//! prompt, and vectors by the local model, so that what a product does with them can be checked.
//!
//! Nothing of its wire is shared with the product's clients, or shared mistakes would cancel out.
//!
//! # Starting one
//!
//! ```no_run
//! # async fn run() -> std::io::Result<()> {
//! use simulator::{Fault, FaultKind, FaultPlan, Settings, Simulator, StageFaults};
//!
//! let simulator = Simulator::start(Settings::quiet()).await?;
//! simulator.set_faults(FaultPlan {
//!     generate: StageFaults::rule(Fault::always(FaultKind::StallMidstream).after_chunks(2)),
//!     ..FaultPlan::default()
//! });
//! println!("GEMINI_BASE_URL={}", simulator.base_url());
//! // … calls …
//! assert!(simulator.journal().iter().all(|call| call.client_gone_ms.is_some()));
//! simulator.stop().await;
//! # Ok(()) }
//! ```
//!
//! # Over HTTP
//!
//! | path | is |
//! |---|---|
//! | `/v1`, `/v1beta` + `/models/{m}:generateContent`, `:streamGenerateContent`, `:embedContent`, `:batchEmbedContents`, `:countTokens`, `/models`, `/models/{m}` | Gemini |
//! | `/v1/chat/completions`, `/v1/embeddings`, `/v1/models` | OpenAI |
//! | `/v1beta/openai/…` | Gemini's own OpenAI-compatible surface |
//! | `GET`, `PUT`, `DELETE /admin/faults` | what goes wrong: [`FaultPlan::from_json`] |
//! | `GET /admin/journal?since=SEQ`, `DELETE /admin/journal` | the calls: [`Entry`] |
//! | `GET /admin/summary` | counts: [`Summary`] |
//!
//! Any key is good but those that begin with `bad`; any model exists but retired ones and `no-such-…`.
//! Context caches are not there: their paths answer 404, and a generation that names one 403.
//!
//! # Whose luck
//!
//! Every draw is a pure function of the seed and the call's [`Key`]: a `[#17]` in the text, else the `x-request-id`
//! header, else a running count; with the attempt (`x-attempt`, from 1, or OpenAI's clients' count of retries), and,
//! for lighter models, the model. The same call has the same fate whoever makes it, so systems can be compared;
//! [`Draws`] tells it without any HTTP. A retry that does not say it is one meets the same luck again.
//!
//! # Time
//!
//! It runs on tokio's clock. A reply in one piece comes when its last token is decoded; a stream's first piece at
//! the first token, the others as they are decoded, the finish reason with the last.

mod answer;
mod draws;
mod embedding;
mod faults;
mod gemini;
mod generation;
mod http;
mod journal;
mod openai;
mod settings;
mod state;
mod stream;
mod tokens;

pub use answer::Hint;
pub use draws::{Draws, GenerateDraw, Key, LIGHTER_SCALE, Physics, Profile};
pub use faults::{
    Fault, FaultKind, FaultPlan, FaultPlanError, Stage, StageFaults, Step, UnknownFault,
};
pub use http::Simulator;
pub use journal::{CallKind, Entry, Summary};
pub use settings::Settings;
pub use tokens::count_tokens;
