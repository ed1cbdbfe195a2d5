//! The latency log: what every finished request and each of its stages cost.
//!
//! [`Recorder::record`] hands a row to a bounded queue and never waits; one [`Ledger`] task writes the
//! queue to local SQLite in batches. Telemetry is what gives way: with the queue full, rows are dropped,
//! counted and reported, and answers are unaffected.

mod entry;
mod recorder;
mod report;
mod store;
mod writer;

pub use entry::Entry;
pub use recorder::{Counts, Recorder};
pub use report::{StageRow, stages};
pub use store::{LedgerError, Store};
pub use writer::{Ledger, Settings};
