//! `generateContent`, `streamGenerateContent`, `countTokens`.

use serde_json::{Value, json};

use super::refusal::{Packing, Refusal, error_of};
use super::shape;
use super::thinking::thinking;
use super::voice::GeminiVoice;
use crate::faults::{FaultKind, Stage};
use crate::generation::{Asked, perform};
use crate::http::{Form, JSON, Outline, Received, Reply};
use crate::journal::Call;
use crate::state::State;
use crate::stream::stream;
use crate::tokens::count_tokens;

/// The reply to a request for a generation.
///
/// # Errors
///
/// The refusal of a request that the model does not take.
pub(super) fn generate(
    state: &State,
    model: &str,
    form: Form,
    received: &Received,
    call: &mut Call,
) -> Result<Reply, Refusal> {
    let asked = asked(model, &received.body)?;
    call.entry_mut().output_cap = asked.cap;
    let luck = state.luck(Stage::Generate, model, &asked.user, received, call);
    let fault = luck.fault.as_ref();
    let packing = packing(form);
    if let Some(fault) = fault
        && let Some(error) = error_of(fault, model, state.settings.retry_delay, packing)
    {
        return Ok(error.met_by(Some(fault)));
    }
    call.entry_mut().prompt_tokens = asked.prompt_tokens;
    let performance = perform(state, &asked, &luck);
    let response_id = format!("sim-{}", call.entry_mut().seq);
    let voice = GeminiVoice { model, response_id, events: form == Form::Events };
    if form != Form::Whole {
        return Ok(stream(&voice, &performance, fault).met_by(fault));
    }
    if let Some(fault) = fault
        && matches!(fault.kind, FaultKind::MidstreamErrorRaw | FaultKind::MidstreamErrorEvent)
    {
        let mut error = Refusal::unavailable().outline(Packing::Bare);
        error.postpone(performance.end);
        return Ok(Reply::Send(error));
    }
    let body = voice.whole(&performance);
    let outline = Outline::whole(performance.end, 200, JSON, body);
    Ok(outline.decoded(performance.decoding()).spoiled(fault))
}

/// The reply to `countTokens`.
///
/// # Errors
///
/// The refusal of a request that is not one.
pub(super) fn count(received: &Received) -> Result<Reply, Refusal> {
    let body = shape::read(&received.body, shape::COUNT_TOKENS)?;
    let inner = body.get("generateContentRequest").unwrap_or(&body);
    let total = prompt_tokens(inner);
    let details = json!([{ "modality": "TEXT", "tokenCount": total }]);
    let reply = json!({ "totalTokens": total, "promptTokensDetails": details });
    Ok(Reply::Send(super::say(&reply)))
}

pub(super) fn packing(form: Form) -> Packing {
    if form == Form::Array { Packing::Array } else { Packing::Bare }
}

/// Reads a request and holds it against what `model` takes.
fn asked(model: &str, body: &[u8]) -> Result<Asked, Refusal> {
    let body = shape::read(body, shape::GENERATE)?;
    let contents = body["contents"].as_array().map_or(&[][..], Vec::as_slice);
    if contents.is_empty() {
        let message = "* GenerateContentRequest.contents: contents is not specified\n";
        return Err(Refusal::invalid(message));
    }
    if body.get("cachedContent").is_some() {
        return Err(Refusal::no_cache());
    }
    let config = &body["generationConfig"];
    check_config(model, config)?;
    let thinking = thinking(model, &config["thinkingConfig"])?;
    let cap = config["maxOutputTokens"].as_u64();
    let wants_json = config["responseMimeType"] == "application/json";
    Ok(Asked {
        system: text_of(&body["systemInstruction"]),
        user: contents.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        prompt_tokens: prompt_tokens(&body),
        cap: cap.map(|cap| u32::try_from(cap).unwrap_or(u32::MAX)),
        thoughts: thinking.tokens,
        shows_thoughts: thinking.shown,
        stops: texts(&config["stopSequences"]),
        json: wants_json.then(|| schema(config)),
    })
}

/// What every family checks, and what only the fourth does.
fn check_config(model: &str, config: &Value) -> Result<(), Refusal> {
    const MOST_STOPS: usize = 5;
    if config["stopSequences"].as_array().is_some_and(|stops| stops.len() > MOST_STOPS) {
        let message = format!("The number of stop sequences must be at most {MOST_STOPS}.");
        return Err(Refusal::invalid(message));
    }
    if config["maxOutputTokens"].as_i64().is_some_and(|cap| cap < 1) {
        return Err(Refusal::invalid("max_output_tokens must be positive."));
    }
    if config.get("responseSchema").is_some() && config.get("responseJsonSchema").is_some() {
        let message = "Only one of response_schema and response_json_schema may be set.";
        return Err(Refusal::invalid(message));
    }
    let most_candidates = if model.starts_with("gemini-4-") { 1 } else { 8 };
    let candidates = config["candidateCount"].as_i64().unwrap_or(1);
    if !(1..=most_candidates).contains(&candidates) {
        let message = format!("candidate_count must be between 1 and {most_candidates}.");
        return Err(Refusal::invalid(message));
    }
    let penalised = ["presencePenalty", "frequencyPenalty"];
    if model.starts_with("gemini-4-") && penalised.iter().any(|name| config.get(name).is_some()) {
        return Err(Refusal::invalid("Penalty is not enabled for this model."));
    }
    Ok(())
}

fn schema(config: &Value) -> Value {
    let schema = config.get("responseSchema").or_else(|| config.get("responseJsonSchema"));
    schema.cloned().unwrap_or_default()
}

/// The text of a message's parts.
pub(super) fn text_of(content: &Value) -> String {
    let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
    parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn texts(values: &Value) -> Vec<String> {
    let values = values.as_array().map_or(&[][..], Vec::as_slice);
    values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

fn prompt_tokens(body: &Value) -> u32 {
    let contents = body["contents"].as_array().map_or(&[][..], Vec::as_slice);
    let messages = contents.iter().chain([&body["systemInstruction"]]);
    messages.map(|content| count_tokens(&text_of(content))).fold(0, u32::saturating_add)
}
