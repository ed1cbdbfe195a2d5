//! The latency log: what every finished request, each of its stages and each of its model calls cost.
//!
//! [`Recorder::record`] hands a row to a bounded queue and never waits; one thread of the [`Ledger`] writes the
//! queue to local SQLite in batches. With a Postgres configured, the file is its outbox: a second task moves
//! the rows there in order, each at least once and none doubled, however long Postgres stays away. Telemetry
//! is what gives way: with the queue full, rows are dropped, counted and reported, and answers are unaffected.

mod backoff;
pub mod calibration;
mod counts;
mod entry;
mod insert;
mod ledger;
mod nul;
mod outbox;
mod paid;
pub mod postgres;
mod recorder;
pub mod reports;
mod seldom;
mod shipper;
mod store;
mod thread;
mod waiting;
mod writer;

pub use counts::{Counts, OutboxCounts};
pub use entry::{CallEntry, CallFate, Entry, Models, StageEntry};
pub use ledger::Ledger;
pub use postgres::{PgError, PgSettings};
pub use recorder::Recorder;
pub use store::{LedgerError, Store};
pub use waiting::Waiting;
pub use writer::Settings;
