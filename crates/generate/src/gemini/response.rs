//! The response as Gemini's wire has it, and what it means.

use domain::Usage;
use serde::Deserialize;
use serde_json::Value;

use crate::reply::{Chunk, Ending, told_model};

/// Everything may be left out, and zeros are.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Response {
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<PromptFeedback>,
    usage_metadata: Option<Counts>,
    model_version: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Content {
    parts: Option<Vec<Part>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part {
    text: Option<String>,
    thought: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PromptFeedback {
    block_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Counts {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

/// What one response of a stream says.
pub(super) fn chunk(document: Value) -> Result<Chunk, serde_json::Error> {
    let response: Response = serde_json::from_value(document)?;
    let blocked = response.prompt_feedback.and_then(|feedback| feedback.block_reason);
    let candidate = response.candidates.into_iter().flatten().next().unwrap_or_default();
    let finished = candidate.finish_reason.as_deref().and_then(ending);
    Ok(Chunk {
        text: text(candidate.content.unwrap_or_default()),
        ending: blocked.map(Ending::Blocked).or(finished),
        usage: response.usage_metadata.as_ref().map(usage),
        model: told_model(response.model_version),
    })
}

/// The answer's part of the content, without thoughts.
fn text(content: Content) -> String {
    let parts = content.parts.into_iter().flatten();
    parts.filter(|part| part.thought != Some(true)).filter_map(|part| part.text).collect()
}

/// New reasons come up every month: one that we do not know is never a good end.
fn ending(reason: &str) -> Option<Ending> {
    match reason {
        "" | "FINISH_REASON_UNSPECIFIED" => None,
        "STOP" => Some(Ending::Stop),
        "MAX_TOKENS" | "CONTINUATION" => Some(Ending::Length),
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
        | "ESCALATION" => Some(Ending::Blocked(reason.to_owned())),
        _ => Some(Ending::Failed(reason.to_owned())),
    }
}

fn usage(counts: &Counts) -> Usage {
    let thinking = counts.thoughts_token_count.unwrap_or_default();
    Usage {
        input_tokens: counts.prompt_token_count.unwrap_or_default(),
        cached_tokens: counts.cached_content_token_count.unwrap_or_default(),
        output_tokens: counts.candidates_token_count.unwrap_or_default() + thinking,
        thinking_tokens: thinking,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn finished(reason: &str) -> Option<Ending> {
        chunk(json!({"candidates": [{"finishReason": reason}]})).unwrap().ending
    }

    #[test]
    fn finish_reasons_fall_into_four_classes() {
        assert_eq!(finished("STOP"), Some(Ending::Stop));
        assert_eq!(finished("MAX_TOKENS"), Some(Ending::Length));
        assert_eq!(finished("CONTINUATION"), Some(Ending::Length));
        for blocked in [
            "SAFETY",
            "RECITATION",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "LANGUAGE",
            "ESCALATION",
        ] {
            assert_eq!(finished(blocked), Some(Ending::Blocked(blocked.to_owned())));
        }
        for failed in
            ["OTHER", "MALFORMED_RESPONSE", "NO_IMAGE", "PUP_LIMITED_DISABLED", "OF_NEXT_MONTH"]
        {
            assert_eq!(finished(failed), Some(Ending::Failed(failed.to_owned())));
        }
        assert_eq!(finished("FINISH_REASON_UNSPECIFIED"), None);
    }

    #[test]
    fn thoughts_are_not_text_and_count_as_output() {
        let document = json!({
            "candidates": [{"content": {"role": "model", "parts": [
                {"text": "Let me see", "thought": true},
                {"text": "Open "},
                {"text": "", "thoughtSignature": "c2ln"},
                {"text": "it.", "thought": false},
                {"functionCall": {"name": "x"}},
            ]}, "index": 0}],
            "usageMetadata": {"promptTokenCount": 29, "candidatesTokenCount": 57, "thoughtsTokenCount": 183,
                              "totalTokenCount": 269, "cachedContentTokenCount": 20},
            "modelVersion": "gemini-3.6-flash", "responseId": "x",
        });
        let usage =
            Usage { input_tokens: 29, cached_tokens: 20, output_tokens: 240, thinking_tokens: 183 };
        let expected = Chunk {
            text: "Open it.".to_owned(),
            ending: None,
            usage: Some(usage),
            model: Some("gemini-3.6-flash".to_owned()),
        };
        assert_eq!(chunk(document).unwrap(), expected);
    }

    #[test]
    fn a_blocked_prompt_has_no_candidates() {
        let document = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
                              "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}});
        let blocked = chunk(document).unwrap();
        assert_eq!(blocked.ending, Some(Ending::Blocked("PROHIBITED_CONTENT".to_owned())));
        assert_eq!(blocked.usage.unwrap().input_tokens, 9);
    }

    #[test]
    fn what_is_left_out_or_null_is_nothing() {
        for document in [
            json!({}),
            json!({"candidates": null, "promptFeedback": null, "usageMetadata": null}),
            json!({"candidates": []}),
            json!({"candidates": [{"content": {"role": "model"}, "index": 0}]}),
            json!({"candidates": [{"content": {"parts": null}, "finishReason": null}]}),
        ] {
            let chunk = chunk(document.clone()).unwrap();
            assert_eq!((chunk.text.as_str(), chunk.ending), ("", None), "{document}");
        }
        assert!(chunk(json!({"candidates": "none"})).is_err());
        assert!(chunk(json!("text")).is_err());
    }

    #[test]
    fn a_model_is_named_as_it_can_be_shown() {
        let told = |name: &str| chunk(json!({"modelVersion": name})).unwrap().model;
        assert_eq!(told("m\0\u{202e}\n-1").as_deref(), Some("m -1"));
        assert_eq!(told(&"m".repeat(200_000)), Some("m".repeat(128)));
        for nothing in ["", "\0\u{2066}\u{2028}", "models/", " "] {
            assert_eq!(told(nothing), None, "{nothing:?}");
        }
    }
}
