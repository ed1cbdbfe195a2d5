//! Threads one deadline through the stages and always has an answer.
//!
//! The keyword search runs first, so that something is in hand within milliseconds; each further stage can
//! only make the answer better. [`policy`] decides, the driver does what it says, and whatever stalls or
//! fails becomes a reason in the answer. Nothing here knows networks, HTTP or SQL.

mod answered;
mod assemble;
mod calls;
mod drafts;
mod drive;
mod extra_calls;
mod faults;
mod flights;
mod found;
mod generating;
pub mod policy;
pub mod replay;
mod request;
mod stages;
mod tally;
mod telling;
mod trace;
mod writing;

pub use answered::{Answered, Found};
pub use calls::{AbandonedCalls, Fate, ModelCall};
pub use extra_calls::{ExtraCalls, ExtraCallsLeft};
pub use policy::Reasoning;
pub use request::{ExtraCallsByStage, Models, Parts, Pipeline, Request, Wants};
pub use tally::ModelTotals;
pub use telling::Event;
pub use trace::{Decision, Trace};
