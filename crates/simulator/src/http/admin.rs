//! `/admin/…`: faults and journal of a running simulator.

use hyper::Method;
use serde::Serialize;
use serde_json::json;

use super::Received;
use super::reply::{JSON, Outline};
use crate::faults::FaultPlan;
use crate::state::State;

/// The reply to an administrator, which is always sound and prompt.
pub(super) fn answer(state: &State, method: &Method, path: &str, received: &Received) -> Outline {
    match (method.as_str(), path) {
        ("GET", "/admin/faults") => say(200, &*state.faults()),
        ("PUT", "/admin/faults") => match FaultPlan::from_json(&received.body) {
            Ok(plan) => {
                let outline = say(200, &plan);
                *state.faults() = plan;
                outline
            }
            Err(error) => say(400, &json!({ "error": error.to_string() })),
        },
        ("DELETE", "/admin/faults") => {
            *state.faults() = FaultPlan::default();
            say(200, &json!({}))
        }
        ("GET", "/admin/journal") => {
            let since = received.parameter("since").and_then(|since| since.parse().ok());
            say(200, &state.journal.entries(since.unwrap_or(0)))
        }
        ("DELETE", "/admin/journal") => {
            state.journal.clear();
            say(200, &json!({}))
        }
        ("GET", "/admin/summary") => say(200, &state.journal.summary()),
        _ => {
            say(404, &json!({ "error": "there is /admin/faults, /admin/journal, /admin/summary" }))
        }
    }
}

fn say(status: u16, value: &impl Serialize) -> Outline {
    let body = serde_json::to_vec(value).expect("plain data is always JSON");
    Outline::whole(std::time::Duration::ZERO, status, JSON, body)
}
