//! `embeddings`.

use bytes::Bytes;
use serde_json::{Value, json};

use super::problem::{Problem, error_of};
use crate::embedding::{Norm, Notation, Shape};
use crate::faults::Stage;
use crate::gemini::{Ability, is_able};
use crate::http::{OpenAiFlavour, Outline, Received, Reply};
use crate::journal::Call;
use crate::state::State;
use crate::tokens::count_tokens;

/// Texts in one call, as OpenAI and as Gemini have it.
const LARGEST_BATCH: [usize; 2] = [2048, 100];

/// The reply to a request for vectors.
///
/// # Errors
///
/// The problem with a request that is not taken.
pub(super) async fn embed(
    state: &State,
    flavour: OpenAiFlavour,
    received: &Received,
    call: &mut Call,
) -> Result<Reply, Problem> {
    let body: Value = super::read(&received.body)?;
    let model = body["model"]
        .as_str()
        .ok_or_else(|| Problem::invalid("you must provide a model parameter"))?;
    if !is_able(model, Ability::Embed) {
        return Err(Problem::no_model(model));
    }
    let texts = texts(&body["input"], flavour)?;
    let shape = shape(model, &body)?;
    let first = texts.first().map_or("", String::as_str);
    let luck = state.luck(Stage::Embed, model, first, received, call);
    let fault = luck.fault.as_ref();
    if let Some(fault) = fault
        && let Some(error) = error_of(flavour, fault, model, state.settings.retry_delay)
    {
        return Ok(error.met_by(Some(fault)));
    }
    let tokens = texts.iter().map(|text| count_tokens(text)).fold(0, u32::saturating_add);
    call.entry_mut().prompt_tokens = tokens;
    let vectors = state.vectors.written(&texts, shape).await;
    let body = write(model, &vectors, tokens);
    let outline = Outline::whole(state.draws.embed(&luck.key), 200, super::JSON, body);
    Ok(outline.spoiled(fault))
}

fn texts(input: &Value, flavour: OpenAiFlavour) -> Result<Vec<String>, Problem> {
    let texts: Option<Vec<String>> = match input {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(texts) => texts.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let most = LARGEST_BATCH[usize::from(flavour == OpenAiFlavour::Gemini)];
    match texts {
        None => Err(Problem::invalid("'input' must be a string or a list of strings")),
        Some(texts) if texts.is_empty() || texts.iter().any(String::is_empty) => {
            Err(Problem::invalid("'$.input' is invalid: it must not be empty"))
        }
        Some(texts) if texts.len() > most => {
            Err(Problem::invalid(format!("at most {most} requests can be in one batch")))
        }
        Some(texts) => Ok(texts),
    }
}

fn shape(model: &str, body: &Value) -> Result<Shape, Problem> {
    const MOST_DIMENSIONS: usize = 3072;
    let dimensions = match body.get("dimensions").filter(|asked| !asked.is_null()) {
        None => default_dimensions(model),
        Some(asked) => asked
            .as_u64()
            .and_then(|asked| usize::try_from(asked).ok())
            .filter(|asked| (1..=MOST_DIMENSIONS).contains(asked))
            .ok_or_else(|| {
                Problem::invalid(format!("'dimensions' must be 1 to {MOST_DIMENSIONS}"))
            })?,
    };
    let notation = match body["encoding_format"].as_str() {
        None | Some("float") => Notation::Numbers,
        Some("base64") => Notation::Base64,
        Some(_) => return Err(Problem::invalid("'encoding_format' must be float or base64")),
    };
    let shrinks = model.contains("embedding-001");
    let norm = if shrinks { Norm::Shrinking } else { Norm::Unit };
    Ok(Shape { dimensions, norm, notation })
}

fn default_dimensions(model: &str) -> usize {
    match model {
        "text-embedding-3-large" => 3072,
        "text-embedding-3-small" | "text-embedding-ada-002" => 1536,
        _ if model.starts_with("gemini-") => 3072,
        _ => 768,
    }
}

fn write(model: &str, vectors: &[Bytes], tokens: u32) -> String {
    let item = |(index, vector): (usize, &Bytes)| {
        let vector = String::from_utf8_lossy(vector);
        format!(r#"{{"object":"embedding","index":{index},"embedding":{vector}}}"#)
    };
    let data = vectors.iter().enumerate().map(item).collect::<Vec<_>>().join(",");
    let (model, usage) = (json!(model), json!({ "prompt_tokens": tokens, "total_tokens": tokens }));
    format!(r#"{{"object":"list","data":[{data}],"model":{model},"usage":{usage}}}"#)
}
