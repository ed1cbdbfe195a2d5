//! Which models there are.
//!
//! Any name is a model, so that systems under test may be set up as they like, but for retired ones and those
//! whose name begins with `no-such-`.

use serde_json::{Value, json};

/// The models of the list, generators first.
const GENERATORS: [&str; 10] = [
    "gemini-4-hydrogen",
    "gemini-4-argon",
    "gemini-3.8-flash",
    "gemini-3.7-flash",
    "gemini-3.6-flash",
    "gemini-3.5-flash-lite",
    "gemini-3.1-flash-lite",
    "gemini-3.1-pro-preview",
    "gemini-2.5-flash",
    "gemini-2.5-flash-lite",
];
const EMBEDDERS: [&str; 2] = ["gemini-embedding-2", "gemini-embedding-001"];
const GONE: [&str; 5] =
    ["no-such-", "gemini-2.0-", "gemini-1.", "text-embedding-004", "embedding-001"];

/// What a model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ability {
    Generate,
    Embed,
}

/// Whether there is such a model and it can do that.
pub(crate) fn is_able(model: &str, ability: Ability) -> bool {
    if !exists(model) {
        return false;
    }
    let embeds = model.contains("embedding");
    match ability {
        Ability::Generate => !embeds,
        Ability::Embed => embeds || !model.starts_with("gemini-"),
    }
}

pub(super) fn exists(model: &str) -> bool {
    !model.is_empty() && !GONE.iter().any(|gone| model.starts_with(gone))
}

/// All names of the list.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    GENERATORS.into_iter().chain(EMBEDDERS)
}

/// The list of models.
pub(super) fn list() -> Value {
    json!({ "models": names().map(describe).collect::<Vec<_>>() })
}

/// One model's entry.
pub(super) fn describe(model: &str) -> Value {
    let name = format!("models/{model}");
    if model.contains("embedding") {
        let input = if model.contains("embedding-2") { 8192 } else { 2048 };
        return json!({
            "name": name,
            "version": "001",
            "displayName": model,
            "inputTokenLimit": input,
            "outputTokenLimit": 1,
            "supportedGenerationMethods": ["embedContent", "countTokens"],
        });
    }
    let mut methods = vec!["generateContent", "countTokens", "batchGenerateContent"];
    if !model.starts_with("gemini-4-") {
        methods.insert(2, "createCachedContent");
    }
    json!({
        "name": name,
        "version": "001",
        "displayName": model,
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": methods,
        "temperature": 1,
        "topP": 0.95,
        "topK": 64,
        "maxTemperature": 2,
        "thinking": true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_do_what_they_are_for() {
        assert!(is_able("anything", Ability::Generate) && is_able("anything", Ability::Embed));
        assert!(!is_able("gemini-embedding-2", Ability::Generate));
        assert!(!is_able("gemini-3.8-flash", Ability::Embed));
        assert!(!is_able("gemini-2.0-flash", Ability::Generate));
        assert!(names().all(exists));
    }
}
