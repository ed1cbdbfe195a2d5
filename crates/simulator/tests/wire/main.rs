//! The simulator over real sockets, and its draws in bulk.

mod admin;
mod draws;
mod faults;
mod gemini;
mod journal;
mod openai;
mod recorded;
mod support;
