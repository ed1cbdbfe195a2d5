//! [`Surroundings`]: what is around the server and may be unwell. It is told what it shows, and calls nobody.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Whoever knows what the pipeline calls.
pub trait Surroundings: Send + Sync + fmt::Debug {
    /// The model APIs, a model each.
    fn upstreams(&self) -> Vec<UpstreamState>;

    /// Where vectors lie.
    fn vectors(&self) -> VectorsState;
}

/// One model API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamState {
    pub name: String,
    /// `closed`, or why calls are refused.
    pub breaker: &'static str,
    /// What became of its calls: `succeeded`, `abandoned`, `refused`, or the kind of fault.
    pub calls: BTreeMap<&'static str, u64>,
}

/// Where vectors lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VectorsState {
    /// In this process.
    Embedded,
    /// In a service of this name.
    Service { name: &'static str, look: Option<Look> },
}

/// The last look at a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    pub age: Duration,
    /// What went wrong, if anything.
    pub error: Option<String>,
}

/// Nothing is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alone;

impl Surroundings for Alone {
    fn upstreams(&self) -> Vec<UpstreamState> {
        Vec::new()
    }

    fn vectors(&self) -> VectorsState {
        VectorsState::Embedded
    }
}
