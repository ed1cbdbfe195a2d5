//! Running the real binary: commands to their end, and servers that stop when dropped.

mod binary;
mod cluster;
mod database;
mod gate;
mod http;
mod metrics;
mod server;
mod simulator;
mod stand_in;

pub use binary::{Outcome, kiwari, kiwari_with, repository, start};
pub use cluster::Cluster;
pub use database::Database;
pub use gate::Gate;
pub use http::{Reply, delete, get, post, put, send_raw};
pub use metrics::Metrics;
pub use server::Server;
pub use simulator::Simulator;
pub use stand_in::StandIn;
