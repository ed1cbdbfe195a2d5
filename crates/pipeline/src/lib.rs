//! Threads one deadline through the stages and always has an answer.
//!
//! The keyword search runs first, so that something is in hand within milliseconds; each further stage can
//! only make the answer better. [`policy`] decides, the driver does what it says, and whatever stalls or
//! fails becomes a reason in the answer. Nothing here knows networks, HTTP or SQL.

mod answered;
mod assemble;
mod drive;
mod faults;
mod flights;
mod found;
pub mod policy;
mod request;
mod stages;
mod trace;
mod writing;

pub use answered::{Answered, Found};
pub use request::{Parts, Pipeline, Request, Wants};
pub use trace::{Decision, Trace};
