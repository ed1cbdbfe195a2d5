//! Running the real binary: commands to their end, and servers that stop when dropped.

mod binary;
mod http;
mod server;

pub use binary::{Outcome, kiwari, repository, start};
pub use http::{Reply, get, post, send_raw};
pub use server::Server;
