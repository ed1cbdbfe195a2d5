//! The edge over real sockets: streams, clients that leave or stall, and limits on connections.

mod client;
mod connections;
mod operators;
mod streams;
mod world;
