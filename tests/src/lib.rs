//! Running the real binary: commands to their end, and servers that stop when dropped.

mod binary;
mod http;
mod server;
mod simulator;

pub use binary::{Outcome, kiwari, kiwari_with, repository, start};
pub use http::{Reply, delete, get, post, put, send_raw};
pub use server::Server;
pub use simulator::Simulator;
