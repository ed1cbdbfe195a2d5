//! The moment by which an answer must be on its way back, and how the time before it is shared out.
//!
//! A request gets one [`Deadline`] when its head has been parsed, and every stage below works against
//! that same moment. Stages never invent durations of their own: they ask for a
//! [`slice`](Deadline::slice), which cannot eat into the time held back for the stages behind them.
//! This crate knows the clock and nothing of what the stages do.

mod allotment;
mod budget;
mod cpu;
mod moment;

pub use allotment::{Allotment, AllotmentError, Minimums};
pub use budget::{
    BudgetError, BudgetHeader, BudgetSources, LONGEST_BUDGET, budget_from_header, budget_from_ms,
};
pub use cpu::{BRIEF, CancelFlag, CpuPool, Interrupted};
pub use moment::{Deadline, OutOfTime};
