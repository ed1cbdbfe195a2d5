//! Generations in OpenAI's words.

use bytes::Bytes;
use serde_json::{Value, json};

use super::problem::Problem;
use crate::gemini::{Packing, Refusal};
use crate::generation::{Ending, Performance};
use crate::http::{EVENTS, OpenAiFlavour};
use crate::stream::Voice;

#[derive(Debug)]
pub(super) struct OpenAiVoice<'a> {
    pub(super) flavour: OpenAiFlavour,
    pub(super) model: &'a str,
    pub(super) id: String,
    /// Whether the stream is to end with a chunk of usage.
    pub(super) with_usage: bool,
}

/// When all replies were made, in seconds since 1970: a fixed moment, so that runs can be compared.
const CREATED: u64 = 1_764_547_200;

impl OpenAiVoice<'_> {
    /// The reply in one piece.
    pub(super) fn whole(&self, performance: &Performance) -> Bytes {
        let choice = json!({
            "index": 0,
            "message": { "role": "assistant", "content": performance.text(), "refusal": null },
            "logprobs": null,
            "finish_reason": finish_reason(performance.ending),
        });
        let reply = json!({
            "id": self.id,
            "object": "chat.completion",
            "created": CREATED,
            "model": self.model,
            "choices": [choice],
            "usage": usage(performance),
        });
        reply.to_string().into()
    }

    fn chunk(&self, choices: &Value, usage: Option<Value>) -> String {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.model,
            "choices": choices,
        });
        if let Some(usage) = usage {
            chunk["usage"] = usage;
        }
        format!("data: {chunk}\n\n")
    }

    fn delta(&self, delta: &Value, finish_reason: Option<&str>) -> String {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish_reason });
        self.chunk(&json!([choice]), None)
    }
}

impl Voice for OpenAiVoice<'_> {
    fn content_type(&self) -> &'static str {
        EVENTS
    }

    fn opening(&self, _: &Performance) -> Option<Bytes> {
        Some(self.delta(&json!({ "role": "assistant", "content": "" }), None).into())
    }

    fn piece(&self, performance: &Performance, index: usize, _is_last: bool) -> Bytes {
        self.delta(&json!({ "content": performance.pieces[index].text }), None).into()
    }

    fn closing(&self, performance: &Performance) -> Option<Bytes> {
        let mut end = self.delta(&json!({}), Some(finish_reason(performance.ending)));
        if self.with_usage {
            end += &self.chunk(&json!([]), Some(usage(performance)));
        }
        Some((end + "data: [DONE]\n\n").into())
    }

    fn error(&self, as_event: bool) -> Bytes {
        let object = match self.flavour {
            OpenAiFlavour::Plain => Problem::unavailable().object().to_string(),
            OpenAiFlavour::Gemini if as_event => Refusal::unavailable().line(),
            OpenAiFlavour::Gemini => Refusal::unavailable().body(Packing::Array),
        };
        if as_event { format!("data: {object}\n\n").into() } else { format!("{object}\n").into() }
    }

    fn torn(&self) -> Bytes {
        "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \n\n".into()
    }
}

fn usage(performance: &Performance) -> Value {
    let (prompt, thoughts) = (performance.prompt_tokens, performance.thoughts);
    let completion = performance.tokens() + thoughts;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": { "cached_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": thoughts },
    })
}

fn finish_reason(ending: Ending) -> &'static str {
    match ending {
        Ending::Stop | Ending::Empty => "stop",
        Ending::Length | Ending::Exhausted => "length",
        Ending::Blocked | Ending::PromptBlocked => "content_filter",
    }
}
