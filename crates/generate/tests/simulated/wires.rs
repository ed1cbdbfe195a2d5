//! Both wires of one simulator.

use std::sync::Arc;

use domain::Generator;
use simulator::{Fault, FaultKind, FaultPlan, Settings, Simulator, StageFaults};
use upstream::{Auth, Upstream};

use crate::common::{gemini, key, openai, upstream};

/// A generator and the far side it asks.
pub(crate) struct Wire {
    pub(crate) name: &'static str,
    pub(crate) generator: Box<dyn Generator>,
    pub(crate) upstream: Arc<Upstream>,
}

pub(crate) async fn simulator() -> Simulator {
    Simulator::start(Settings::quiet()).await.expect("a free port")
}

pub(crate) fn wires(simulator: &Simulator) -> [Wire; 2] {
    let google = upstream(simulator.address(), "", Auth::GoogKey(key()));
    let other = upstream(simulator.address(), "/v1", Auth::Bearer(key()));
    [
        Wire { name: "gemini", generator: Box::new(gemini(&google)), upstream: google },
        Wire { name: "openai", generator: Box::new(openai(&other)), upstream: other },
    ]
}

pub(crate) fn plan(kind: FaultKind) -> FaultPlan {
    let generate = StageFaults::rule(Fault::always(kind).after_chunks(1));
    FaultPlan { generate, ..FaultPlan::default() }
}
