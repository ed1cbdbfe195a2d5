//! Load on a running server, and what came of it.
//!
//! The load is open: requests leave at the moments that were planned, whether earlier ones have been answered or
//! not, and times count from the planned moment. A server that stalls is thus charged for everybody who would
//! have been waiting. With a fixed concurrency instead, the load is closed, and times count from the sending.

mod client;
mod exchange;
mod figures;
mod load;
mod options;
mod print;
mod questions;
mod records;
mod reply;
mod schedule;
mod stream;
mod tally;

pub(crate) use load::run;
pub(crate) use options::Bench;
pub(crate) use print::for_people;
