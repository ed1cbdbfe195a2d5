//! Generations in Gemini's words: whole, as events, as one array.

use bytes::Bytes;

use super::refusal::{Packing, Refusal};
use super::wire::{Candidate, Content, GenerateReply, Part, PromptFeedback, Usage};
use crate::generation::{Ending, Performance};
use crate::http::{EVENTS, JSON};
use crate::stream::Voice;

/// What all chunks of a reply repeat.
#[derive(Debug)]
pub(super) struct GeminiVoice<'a> {
    pub(super) model: &'a str,
    pub(super) response_id: String,
    /// Events, else an array.
    pub(super) events: bool,
}

/// What is shown of thinking.
const THOUGHT: &str = "Looking for the passage that answers.";

impl GeminiVoice<'_> {
    /// The reply in one piece, indented.
    pub(super) fn whole(&self, performance: &Performance) -> Bytes {
        let text = performance.text();
        let usage = usage(performance, performance.tokens());
        let reply = match performance.ending {
            Ending::Stop | Ending::Length => {
                let mut parts = Vec::new();
                if performance.shows_thoughts && performance.thoughts > 0 {
                    parts.push(Part { text: THOUGHT, thought: true });
                }
                parts.push(Part { text: &text, thought: false });
                self.reply(Some(parts), finish_reason(performance.ending), usage)
            }
            Ending::Blocked | Ending::Empty | Ending::Exhausted | Ending::PromptBlocked => {
                self.ending(performance)
            }
        };
        let mut body = serde_json::to_vec_pretty(&reply).expect("a reply is always JSON");
        body.push(b'\n');
        body.into()
    }

    fn reply<'a>(
        &'a self,
        parts: Option<Vec<Part<'a>>>,
        finish_reason: Option<&'static str>,
        usage_metadata: Usage,
    ) -> GenerateReply<'a> {
        let content = parts.map(|parts| Content { parts, role: "model" });
        GenerateReply {
            candidates: Some([Candidate { content, finish_reason, index: 0 }]),
            prompt_feedback: None,
            usage_metadata,
            model_version: self.model,
            response_id: &self.response_id,
        }
    }

    /// The chunk that a reply ends with if it does not end in text.
    fn ending(&self, performance: &Performance) -> GenerateReply<'_> {
        let usage = usage(performance, performance.tokens());
        let finish = finish_reason(performance.ending);
        match performance.ending {
            Ending::Stop | Ending::Length | Ending::Blocked => self.reply(None, finish, usage),
            Ending::Empty => {
                self.reply(Some(vec![Part { text: "", thought: false }]), finish, usage)
            }
            Ending::Exhausted => {
                let shown = performance.shows_thoughts;
                let thought = shown.then_some(Part { text: THOUGHT, thought: true });
                self.reply(Some(thought.into_iter().collect()), finish, usage)
            }
            Ending::PromptBlocked => GenerateReply {
                candidates: None,
                prompt_feedback: Some(PromptFeedback { block_reason: "PROHIBITED_CONTENT" }),
                ..self.reply(None, None, usage)
            },
        }
    }

    fn framed(&self, reply: &GenerateReply<'_>, is_first: bool) -> Bytes {
        let json = serde_json::to_string(reply).expect("a reply is always JSON");
        self.frame(&json, is_first)
    }

    fn frame(&self, json: &str, is_first: bool) -> Bytes {
        match (self.events, is_first) {
            (true, _) => format!("data: {json}\r\n\r\n").into(),
            (false, true) => format!("[{json}").into(),
            (false, false) => format!(",\r\n{json}").into(),
        }
    }
}

impl Voice for GeminiVoice<'_> {
    fn content_type(&self) -> &'static str {
        if self.events { EVENTS } else { JSON }
    }

    fn opening(&self, performance: &Performance) -> Option<Bytes> {
        let thinks_aloud = performance.shows_thoughts && performance.thoughts > 0;
        if !thinks_aloud || performance.pieces.is_empty() {
            return None;
        }
        let parts = vec![Part { text: THOUGHT, thought: true }];
        Some(self.framed(&self.reply(Some(parts), None, usage(performance, 0)), true))
    }

    fn piece(&self, performance: &Performance, index: usize, is_last: bool) -> Bytes {
        let piece = &performance.pieces[index];
        let finish = if is_last { finish_reason(performance.ending) } else { None };
        // The first of several chunks counts the prompt only.
        let tokens = if index == 0 && !is_last { 0 } else { piece.tokens };
        let parts = vec![Part { text: &piece.text, thought: false }];
        let reply = self.reply(Some(parts), finish, usage(performance, tokens));
        let opened = performance.shows_thoughts && performance.thoughts > 0;
        self.framed(&reply, index == 0 && !opened)
    }

    fn closing(&self, performance: &Performance) -> Option<Bytes> {
        let ends_in_text = matches!(performance.ending, Ending::Stop | Ending::Length);
        let last = if ends_in_text {
            String::new()
        } else {
            let framed =
                self.framed(&self.ending(performance), performance.ending != Ending::Blocked);
            String::from_utf8_lossy(&framed).into_owned()
        };
        let end = if self.events { "" } else { "]" };
        let bytes = last + end;
        (!bytes.is_empty()).then(|| bytes.into())
    }

    fn error(&self, as_event: bool) -> Bytes {
        let refusal = Refusal::unavailable();
        match (self.events, as_event) {
            (true, true) => self.frame(&refusal.line(), false),
            (true, false) => refusal.body(Packing::Bare).into(),
            (false, _) => format!(",\r\n{}]", refusal.line()).into(),
        }
    }

    fn torn(&self) -> Bytes {
        self.frame(r#"{"candidates": [{"content": {"parts": [{"text": "#, true)
    }
}

fn usage(performance: &Performance, tokens: u32) -> Usage {
    Usage::new(performance.prompt_tokens, tokens, performance.thoughts)
}

fn finish_reason(ending: Ending) -> Option<&'static str> {
    match ending {
        Ending::Stop | Ending::Empty => Some("STOP"),
        Ending::Length | Ending::Exhausted => Some("MAX_TOKENS"),
        Ending::Blocked => Some("SAFETY"),
        Ending::PromptBlocked => None,
    }
}
