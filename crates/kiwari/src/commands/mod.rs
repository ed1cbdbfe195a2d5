//! One file per command.

pub(crate) mod ask;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod eval;
pub(crate) mod index;
pub(crate) mod report;
pub(crate) mod serve;
