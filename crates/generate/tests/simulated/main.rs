//! Generators against a simulated upstream: whatever it does, the stream says what happened.

mod cancelling;
#[path = "../common/mod.rs"]
mod common;
mod faults;
mod whole;
mod wires;
