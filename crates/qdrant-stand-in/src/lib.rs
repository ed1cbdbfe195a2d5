//! A server that speaks as much of Qdrant's gRPC as Kiwari does, over an exact search in memory.
//!
//! It stands in for Qdrant where there is none: in tests, which also make it fail as servers fail, and in
//! rehearsals of a whole deployment. It keeps nothing, knows one kind of collection (one unnamed vector by
//! cosine), and refuses what it does not know rather than guess. It is not Qdrant, and passing against it
//! proves only how the wire is used; the same tests run against the real one.

mod collections;
mod filter;
mod health;
mod journal;
mod point;
mod points;
mod serve;
mod service;
mod store;
mod trouble;

pub use journal::Call;
pub use serve::{Identity, Settings, StandIn};
pub use trouble::Trouble;
