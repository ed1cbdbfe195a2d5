//! `embedContent`, `batchEmbedContents`.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::generate::text_of;
use super::refusal::{Packing, Refusal, error_of};
use super::shape;
use crate::embedding::{Norm, Notation, Shape};
use crate::faults::Stage;
use crate::http::{JSON, Outline, Received, Reply};
use crate::journal::Call;
use crate::state::State;
use crate::tokens::count_tokens;

const LARGEST_BATCH: usize = 100;
const LEAST_DIMENSIONS: u64 = 128;
const MOST_DIMENSIONS: u64 = 3072;

/// One text to embed: the parts of one content make one text, and so one vector.
struct Wanted {
    text: String,
    dimensions: usize,
}

/// The reply to a request for one vector.
///
/// # Errors
///
/// The refusal of a request that the model does not take.
pub(super) async fn one(
    state: &State,
    model: &str,
    received: &Received,
    call: &mut Call,
) -> Result<Reply, Refusal> {
    let body = shape::read(&received.body, shape::EMBED)?;
    let wanted = [wanted(model, &body, "EmbedContentRequest")?];
    let write = |vectors: &[Bytes], usage: Option<&str>| {
        let vector = vectors.first().map_or("[]".into(), |bytes| String::from_utf8_lossy(bytes));
        format!(
            "{{\n  \"embedding\": {{\n    \"values\": {vector}\n  }}{}\n}}\n",
            usage.unwrap_or_default()
        )
    };
    Ok(reply(state, model, &wanted, received, call, write).await)
}

/// The reply to a request for several vectors.
///
/// # Errors
///
/// The refusal of a request that the model does not take.
pub(super) async fn batch(
    state: &State,
    model: &str,
    received: &Received,
    call: &mut Call,
) -> Result<Reply, Refusal> {
    let body = shape::read(&received.body, shape::BATCH_EMBED)?;
    let requests = body["requests"].as_array().map_or(&[][..], Vec::as_slice);
    check_batch(model, requests)?;
    let each = |(index, request): (usize, &Value)| {
        wanted(model, request, &format!("BatchEmbedContentsRequest.requests[{index}]"))
    };
    let wanted = requests.iter().enumerate().map(each).collect::<Result<Vec<_>, _>>()?;
    let write = |vectors: &[Bytes], usage: Option<&str>| {
        let embedding = |bytes: &Bytes| {
            format!("    {{\n      \"values\": {}\n    }}", String::from_utf8_lossy(bytes))
        };
        let embeddings = vectors.iter().map(embedding).collect::<Vec<_>>().join(",\n");
        format!("{{\n  \"embeddings\": [\n{embeddings}\n  ]{}\n}}\n", usage.unwrap_or_default())
    };
    Ok(reply(state, model, &wanted, received, call, write).await)
}

fn check_batch(model: &str, requests: &[Value]) -> Result<(), Refusal> {
    let named = |what: &str| format!("* BatchEmbedContentsRequest.{what}");
    if requests.is_empty() {
        return Err(Refusal::invalid(named("requests: requests is not specified")));
    }
    if requests.len() > LARGEST_BATCH {
        let message = format!("requests: at most {LARGEST_BATCH} requests can be in one batch");
        return Err(Refusal::invalid(named(&message)));
    }
    let own = format!("models/{model}");
    for (index, request) in requests.iter().enumerate() {
        match request["model"].as_str() {
            None => {
                let message = format!("requests[{index}].model: model is required");
                return Err(Refusal::invalid(named(&message)));
            }
            Some(name) if name != own => {
                let message = format!("requests[{index}].model: must be {own}, as in the path");
                return Err(Refusal::invalid(named(&message)));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn wanted(model: &str, request: &Value, place: &str) -> Result<Wanted, Refusal> {
    let text = text_of(&request["content"]);
    if text.trim().is_empty() {
        return Err(Refusal::invalid(format!("* {place}.content: contains no text")));
    }
    let dimensions = match request.get("outputDimensionality") {
        None => default_dimensions(model),
        Some(asked) => asked
            .as_u64()
            .filter(|n| (LEAST_DIMENSIONS..=MOST_DIMENSIONS).contains(n))
            .ok_or_else(|| {
                let range = format!("{LEAST_DIMENSIONS} and {MOST_DIMENSIONS}");
                Refusal::invalid(format!(
                    "* {place}.output_dimensionality: must be between {range}"
                ))
            })?,
    };
    Ok(Wanted { text, dimensions: usize::try_from(dimensions).unwrap_or(usize::MAX) })
}

fn default_dimensions(model: &str) -> u64 {
    if model.starts_with("gemini-") { MOST_DIMENSIONS } else { 768 }
}

async fn reply(
    state: &State,
    model: &str,
    wanted: &[Wanted],
    received: &Received,
    call: &mut Call,
    write: impl FnOnce(&[Bytes], Option<&str>) -> String,
) -> Reply {
    let first = wanted.first().map_or("", |wanted| wanted.text.as_str());
    let luck = state.luck(Stage::Embed, model, first, received, call);
    let fault = luck.fault.as_ref();
    if let Some(fault) = fault
        && let Some(error) = error_of(fault, model, state.settings.retry_delay, Packing::Bare)
    {
        return error.met_by(Some(fault));
    }
    let tokens =
        wanted.iter().map(|wanted| count_tokens(&wanted.text)).fold(0, u32::saturating_add);
    call.entry_mut().prompt_tokens = tokens;
    let mut vectors = Vec::with_capacity(wanted.len());
    for alike in wanted.chunk_by(|a, b| a.dimensions == b.dimensions) {
        let texts: Vec<String> = alike.iter().map(|wanted| bare(model, &wanted.text)).collect();
        let shape = shape_of(model, alike.first().map_or(0, |wanted| wanted.dimensions));
        vectors.extend(state.vectors.written(&texts, shape).await);
    }
    let usage = json!({ "promptTokenCount": tokens });
    // The first model says nothing of its use.
    let usage =
        (!model.contains("embedding-001")).then(|| format!(",\n  \"usageMetadata\": {usage}"));
    let body = write(&vectors, usage.as_deref());
    let after: Duration = state.draws.embed(&luck.key);
    Outline::whole(after, 200, JSON, body).spoiled(fault)
}

fn shape_of(model: &str, dimensions: usize) -> Shape {
    let shrinks = model.contains("embedding-001");
    let norm = if shrinks { Norm::Shrinking } else { Norm::Unit };
    Shape { dimensions, norm, notation: Notation::Numbers }
}

/// The text without the words by which `gemini-embedding-2` is told what it is for: a real model of that kind
/// was taught them, the local one was not.
fn bare(model: &str, text: &str) -> String {
    let instructed = model.contains("embedding-2") && text.starts_with("task: ");
    let query = instructed.then(|| text.split_once("query: ")).flatten();
    query.map_or_else(|| text.to_owned(), |(_, query)| query.to_owned())
}
