//! The response as OpenAI's wire has it, and what it means.

use domain::Usage;
use serde::Deserialize;
use serde_json::Value;

use crate::reply::{Chunk, Ending, told_model};

/// Everything may be left out or null. Reasoning that some servers send beside the content is not read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Response {
    model: Option<String>,
    /// Empty in the chunk that brings the counts.
    choices: Option<Vec<Choice>>,
    usage: Option<Counts>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Choice {
    delta: Option<Message>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    content: Option<String>,
    refusal: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

/// What one chunk of a stream says.
pub(super) fn chunk(document: Value) -> Result<Chunk, serde_json::Error> {
    let response: Response = serde_json::from_value(document)?;
    let choice = response.choices.into_iter().flatten().next().unwrap_or_default();
    let delta = choice.delta.unwrap_or_default();
    let refused = delta.refusal.is_some_and(|refusal| !refusal.is_empty());
    let finished = choice.finish_reason.as_deref().and_then(ending);
    Ok(Chunk {
        text: delta.content.unwrap_or_default(),
        ending: if refused { Some(Ending::Blocked("refusal".to_owned())) } else { finished },
        usage: response.usage.map(usage),
        model: told_model(response.model),
    })
}

fn ending(reason: &str) -> Option<Ending> {
    match reason {
        "" => None,
        "stop" => Some(Ending::Stop),
        "length" => Some(Ending::Length),
        "content_filter" => Some(Ending::Blocked(reason.to_owned())),
        _ => Some(Ending::Failed(reason.to_owned())),
    }
}

fn usage(counts: Counts) -> Usage {
    let (input, output) = (counts.prompt_tokens_details, counts.completion_tokens_details);
    Usage {
        input_tokens: counts.prompt_tokens.unwrap_or_default(),
        cached_tokens: input.and_then(|details| details.cached_tokens).unwrap_or_default(),
        output_tokens: counts.completion_tokens.unwrap_or_default(),
        thinking_tokens: output.and_then(|details| details.reasoning_tokens).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_is_text_and_reasoning_is_not() {
        let document = json!({"id": "1", "model": "m", "choices": [
            {"index": 0, "delta": {"role": "assistant", "content": "Open", "reasoning_content": "hm", "reasoning": "hm"},
             "finish_reason": null}], "usage": null});
        let expected =
            Chunk { text: "Open".to_owned(), model: Some("m".to_owned()), ..Chunk::default() };
        assert_eq!(chunk(document).unwrap(), expected);
    }

    #[test]
    fn the_last_chunk_brings_counts_and_no_choices() {
        let document = json!({"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 12,
            "prompt_tokens_details": {"cached_tokens": 8}, "completion_tokens_details": {"reasoning_tokens": 5}}});
        let usage = chunk(document).unwrap().usage.unwrap();
        let expected =
            Usage { input_tokens: 30, cached_tokens: 8, output_tokens: 12, thinking_tokens: 5 };
        assert_eq!(usage, expected);
    }

    #[test]
    fn finish_reasons_fall_into_four_classes() {
        let blocked = |why: &str| Some(Ending::Blocked(why.to_owned()));
        let failed = |why: &str| Some(Ending::Failed(why.to_owned()));
        for (reason, expected) in [
            (json!("stop"), Some(Ending::Stop)),
            (json!("length"), Some(Ending::Length)),
            (json!("content_filter"), blocked("content_filter")),
            (json!("tool_calls"), failed("tool_calls")),
            (json!("abort"), failed("abort")),
            (json!(""), None),
            (json!(null), None),
        ] {
            let document = json!({"choices": [{"delta": {}, "finish_reason": reason}]});
            assert_eq!(chunk(document).unwrap().ending, expected);
        }
        let refusal =
            json!({"choices": [{"delta": {"refusal": "I can't"}, "finish_reason": null}]});
        assert_eq!(chunk(refusal).unwrap().ending, blocked("refusal"));
    }

    #[test]
    fn what_is_left_out_or_null_is_nothing() {
        for document in [json!({}), json!({"choices": null}), json!({"choices": [{"delta": null}]})]
        {
            assert_eq!(chunk(document).unwrap(), Chunk::default());
        }
        assert!(chunk(json!({"choices": [{"delta": {"content": 1}}]})).is_err());
    }

    #[test]
    fn a_model_is_named_as_it_can_be_shown() {
        let told = |name: &str| chunk(json!({"model": name})).unwrap().model;
        assert_eq!(told("m\0\u{202e}\n-1").as_deref(), Some("m -1"));
        assert_eq!(told(&"m".repeat(200_000)), Some("m".repeat(128)));
        for nothing in ["", "\0\u{2066}\u{2028}", "models/", " "] {
            assert_eq!(told(nothing), None, "{nothing:?}");
        }
    }
}
