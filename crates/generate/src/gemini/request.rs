//! The request as Gemini's wire has it.

use domain::GenerateLimits;
use serde::Serialize;

use crate::models::{Model, Thinking};
use crate::prompt::Written;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    system_instruction: Content<'a>,
    contents: [Content<'a>; 1],
    generation_config: Config,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
struct Part<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

/// A request with both knobs, or the other family's, is refused.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum ThinkingConfig {
    ThinkingBudget(i32),
    ThinkingLevel(String),
}

/// The body that asks `model` what is `written`.
pub(super) fn body(model: &Model, written: &Written, limits: GenerateLimits) -> Vec<u8> {
    let capabilities = model.capabilities();
    let body = Body {
        system_instruction: content(None, &written.system),
        contents: [content(Some("user"), &written.user)],
        generation_config: Config {
            max_output_tokens: model.output_cap(limits),
            temperature: capabilities.temperature,
            thinking_config: thinking(capabilities.thinking, limits),
        },
    };
    serde_json::to_vec(&body).expect("strings and finite numbers become JSON")
}

fn content<'a>(role: Option<&'static str>, text: &'a str) -> Content<'a> {
    Content { role, parts: [Part { text }] }
}

fn thinking(thinking: Thinking, limits: GenerateLimits) -> Option<ThinkingConfig> {
    match thinking {
        Thinking::None => None,
        Thinking::Budget { least, reasoning } => {
            let deep = limits.reasoning && leaves_an_answer(reasoning, limits);
            Some(ThinkingConfig::ThinkingBudget(if deep { reasoning } else { least }))
        }
        Thinking::Level { least, reasoning } => {
            let level = if limits.reasoning { reasoning } else { least };
            Some(ThinkingConfig::ThinkingLevel(level.as_str().to_ascii_uppercase()))
        }
    }
}

/// Whether thinking for `budget` tokens leaves an answer under the cap that both share.
fn leaves_an_answer(budget: i32, limits: GenerateLimits) -> bool {
    // Where the model sets its budget, nobody can tell.
    let thought = u32::try_from(budget).unwrap_or_default();
    limits.max_output_tokens >= thought.saturating_add(limits.answer_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::ModelSettings;

    fn request(model: &str, settings: &str, reasoning: bool) -> serde_json::Value {
        let settings: ModelSettings = toml::from_str(settings).unwrap();
        let model = Model::resolve(model, &settings).unwrap();
        let written = Written { system: "Rules.\n".to_owned(), user: "Why?".to_owned() };
        let limits = GenerateLimits { max_output_tokens: 2_000, answer_tokens: 300, reasoning };
        serde_json::from_slice(&body(&model, &written, limits)).unwrap()
    }

    #[test]
    fn thinking_never_eats_the_answer() {
        let thinking_of = |max_output_tokens| {
            let limits = GenerateLimits { max_output_tokens, answer_tokens: 300, reasoning: true };
            let config = thinking(Thinking::Budget { least: 0, reasoning: 1024 }, limits);
            serde_json::to_string(&config).unwrap()
        };
        assert_eq!(thinking_of(1_324), "{\"thinkingBudget\":1024}");
        assert_eq!(thinking_of(1_323), "{\"thinkingBudget\":0}");
    }

    #[test]
    fn a_request_has_what_the_wire_asks_for() {
        insta::assert_json_snapshot!(request("gemini-3.5-flash-lite", "temperature = 0.2", false));
        insta::assert_json_snapshot!(request("gemini-of-tomorrow", "", true));
    }

    #[test]
    fn each_family_is_told_in_its_own_terms_how_long_to_think() {
        let config = |model, reasoning| {
            request(model, "", reasoning)["generationConfig"]["thinkingConfig"].to_string()
        };
        for (model, least, reasoning) in [
            ("gemini-2.5-flash", r#"{"thinkingBudget":0}"#, r#"{"thinkingBudget":1024}"#),
            ("gemini-2.5-pro", r#"{"thinkingBudget":128}"#, r#"{"thinkingBudget":1024}"#),
            (
                "gemini-3.1-pro-preview",
                r#"{"thinkingLevel":"LOW"}"#,
                r#"{"thinkingLevel":"MEDIUM"}"#,
            ),
            (
                "gemini-3.5-flash-lite",
                r#"{"thinkingLevel":"MINIMAL"}"#,
                r#"{"thinkingLevel":"LOW"}"#,
            ),
            ("gemini-3.8-flash", r#"{"thinkingLevel":"LOW"}"#, r#"{"thinkingLevel":"MEDIUM"}"#),
            ("gemini-4-hydrogen", r#"{"thinkingLevel":"LOW"}"#, r#"{"thinkingLevel":"MEDIUM"}"#),
            ("gemini-of-tomorrow", "null", "null"),
        ] {
            assert_eq!(config(model, false), least, "{model}");
            assert_eq!(config(model, true), reasoning, "{model}");
        }
    }

    #[test]
    fn the_cap_on_output_is_never_over_what_the_model_takes() {
        let body = request("mine", "max_output_tokens = 100", false);
        assert_eq!(body["generationConfig"]["maxOutputTokens"], 100);
    }
}
