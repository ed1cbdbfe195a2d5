//! The request as OpenAI's wire has it.

use domain::GenerateLimits;
use serde::Serialize;

use crate::models::{MaxTokensField, Model, Thinking};
use crate::prompt::Written;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: [Message<'a>; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// The body that asks `model` what is `written`.
pub(super) fn body(model: &Model, written: &Written, limits: GenerateLimits) -> Vec<u8> {
    let capabilities = model.capabilities();
    let cap = |field| (capabilities.max_tokens_field == field).then(|| model.output_cap(limits));
    let body = Body {
        model: model.name(),
        messages: [
            Message { role: "system", content: &written.system },
            Message { role: "user", content: &written.user },
        ],
        max_tokens: cap(MaxTokensField::MaxTokens),
        max_completion_tokens: cap(MaxTokensField::MaxCompletionTokens),
        temperature: capabilities.temperature,
        reasoning_effort: effort(capabilities.thinking, limits.reasoning),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
    };
    serde_json::to_vec(&body).expect("strings and finite numbers become JSON")
}

fn effort(thinking: Thinking, wants_reasoning: bool) -> Option<&'static str> {
    match thinking {
        Thinking::None | Thinking::Budget { .. } => None,
        Thinking::Level { least, reasoning } => {
            Some(if wants_reasoning { reasoning } else { least }.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::ModelSettings;

    fn request(model: &str, settings: &str, reasoning: bool) -> serde_json::Value {
        let settings: ModelSettings = toml::from_str(settings).unwrap();
        let model = Model::resolve(model, &settings).unwrap();
        let written = Written { system: "Rules.\n".to_owned(), user: "Why?".to_owned() };
        let limits = GenerateLimits { max_output_tokens: 512, answer_tokens: 300, reasoning };
        serde_json::from_slice(&body(&model, &written, limits)).unwrap()
    }

    #[test]
    fn an_unknown_model_is_sent_nothing_optional() {
        insta::assert_json_snapshot!(request("llama3.2:3b", "", true));
    }

    #[test]
    fn a_reasoning_model_has_its_own_cap_and_an_effort() {
        insta::assert_json_snapshot!(request("gpt-5.4-mini", "", false));
        assert_eq!(request("gpt-5.4-mini", "", true)["reasoning_effort"], "low");
        assert_eq!(request("gemini-3.8-flash", "", false)["reasoning_effort"], "low");
    }

    #[test]
    fn temperature_is_sent_where_it_is_set() {
        assert_eq!(request("gpt-4.1-mini", "temperature = 0", false)["temperature"], 0.0);
    }
}
