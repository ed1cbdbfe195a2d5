//! Measuring retrieval against questions with known answers.

pub(crate) mod collection;
pub(crate) mod formats;
pub(crate) mod metrics;
