//! Generators against peers that send exactly these bytes.

#[path = "../common/mod.rs"]
mod common;
mod gemini;
mod openai;
mod peer;
mod timing;
