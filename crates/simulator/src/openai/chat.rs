//! `chat/completions`.

use serde_json::{Value, json};

use super::problem::{Problem, error_of};
use super::voice::OpenAiVoice;
use crate::faults::{FaultKind, Stage};
use crate::gemini::{Ability, is_able, thinking};
use crate::generation::{Asked, perform};
use crate::http::{OpenAiFlavour, Outline, Received, Reply};
use crate::journal::Call;
use crate::state::State;
use crate::stream::stream;
use crate::tokens::count_tokens;

/// The reply to a request for a completion.
///
/// # Errors
///
/// The problem with a request that is not taken.
pub(super) fn complete(
    state: &State,
    flavour: OpenAiFlavour,
    received: &Received,
    call: &mut Call,
) -> Result<Reply, Problem> {
    let body: Value = super::read(&received.body)?;
    let model = body["model"]
        .as_str()
        .ok_or_else(|| Problem::invalid("you must provide a model parameter"))?;
    if !is_able(model, Ability::Generate) {
        return Err(Problem::no_model(model));
    }
    let asked = asked(model, &body)?;
    call.entry_mut().output_cap = asked.cap;
    let luck = state.luck(Stage::Generate, model, &asked.user, received, call);
    let fault = luck.fault.as_ref();
    if let Some(fault) = fault
        && let Some(error) = error_of(flavour, fault, model, state.settings.retry_delay)
    {
        return Ok(error.met_by(Some(fault)));
    }
    call.entry_mut().prompt_tokens = asked.prompt_tokens;
    let performance = perform(state, &asked, &luck);
    let id = format!("chatcmpl-sim-{}", call.entry_mut().seq);
    let with_usage = body["stream_options"]["include_usage"].as_bool().unwrap_or(false);
    let voice = OpenAiVoice { flavour, model, id, with_usage };
    if body["stream"].as_bool().unwrap_or(false) {
        return Ok(stream(&voice, &performance, fault).met_by(fault));
    }
    if let Some(fault) = fault
        && matches!(fault.kind, FaultKind::MidstreamErrorRaw | FaultKind::MidstreamErrorEvent)
    {
        let mut error = super::problem::refused(flavour, &Problem::unavailable());
        error.postpone(performance.end);
        return Ok(Reply::Send(error));
    }
    let body = voice.whole(&performance);
    let outline = Outline::whole(performance.end, 200, super::JSON, body);
    Ok(outline.decoded(performance.decoding()).spoiled(fault))
}

fn asked(model: &str, body: &Value) -> Result<Asked, Problem> {
    let messages = body["messages"].as_array().filter(|messages| !messages.is_empty());
    let messages =
        messages.ok_or_else(|| Problem::invalid("'messages' is a required, non-empty list"))?;
    let of = |wanted: bool| {
        let of_role = messages.iter().filter(|message| is_system(message) == wanted);
        of_role.map(content).collect::<Vec<_>>().join("\n")
    };
    let (system, user) = (of(true), of(false));
    let cap = ["max_completion_tokens", "max_tokens"].iter().find_map(|name| body[name].as_u64());
    let thinking = thinking(model, &thinking_config(body))
        .map_err(|refusal| Problem::invalid(refusal.message))?;
    Ok(Asked {
        prompt_tokens: count_tokens(&system).saturating_add(count_tokens(&user)),
        system,
        user,
        cap: cap.map(|cap| u32::try_from(cap).unwrap_or(u32::MAX)),
        thoughts: thinking.tokens,
        shows_thoughts: false,
        stops: stops(&body["stop"]),
        json: json_schema(&body["response_format"]),
    })
}

fn is_system(message: &Value) -> bool {
    matches!(message["role"].as_str(), Some("system" | "developer"))
}

/// A message's text, which is a string or a list of parts.
fn content(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn stops(stop: &Value) -> Vec<String> {
    match stop {
        Value::String(stop) => vec![stop.clone()],
        Value::Array(stops) => {
            stops.iter().filter_map(|stop| stop.as_str().map(str::to_owned)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// `reasoning_effort`, or what was said in Gemini's own words.
fn thinking_config(body: &Value) -> Value {
    let google = [&body["extra_body"]["google"], &body["google"]];
    if let Some(config) = google.iter().find_map(|google| google.get("thinking_config")) {
        return json!({
            "thinkingLevel": config["thinking_level"],
            "thinkingBudget": config["thinking_budget"],
            "includeThoughts": config["include_thoughts"],
        });
    }
    match body["reasoning_effort"].as_str() {
        None => Value::Null,
        Some("none") => json!({ "thinkingBudget": 0 }),
        Some(effort) => by_effort(body["model"].as_str().unwrap_or_default(), effort),
    }
}

/// Models of the 2.5 family know budgets only.
fn by_effort(model: &str, effort: &str) -> Value {
    if !model.starts_with("gemini-2.5-") {
        return json!({ "thinkingLevel": effort });
    }
    let budget = match effort {
        "minimal" | "low" => 1024,
        "medium" => 8192,
        _ => 24_576,
    };
    json!({ "thinkingBudget": budget })
}

fn json_schema(format: &Value) -> Option<Value> {
    match format["type"].as_str() {
        Some("json_schema") => Some(format["json_schema"]["schema"].clone()),
        Some("json_object") => Some(Value::Null),
        _ => None,
    }
}
