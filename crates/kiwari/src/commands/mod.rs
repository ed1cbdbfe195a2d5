//! One file per command.

pub(crate) mod ask;
pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod healthcheck;
pub(crate) mod index;
pub(crate) mod migrate;
pub(crate) mod report;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod simulate_policy;
