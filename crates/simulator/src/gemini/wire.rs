//! Replies as Gemini writes them.

use serde::Serialize;

/// A whole reply, or one chunk of a stream.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerateReply<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) candidates: Option<[Candidate<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_feedback: Option<PromptFeedback>,
    pub(super) usage_metadata: Usage,
    pub(super) model_version: &'a str,
    pub(super) response_id: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) finish_reason: Option<&'static str>,
    pub(super) index: u32,
}

#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    /// Absent, not empty, where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<Part<'a>>,
    pub(super) role: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct Part<'a> {
    pub(super) text: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) thought: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback {
    pub(super) block_reason: &'static str,
}

/// Counters; those that are zero are left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Usage {
    pub(super) prompt_token_count: u32,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) candidates_token_count: u32,
    pub(super) total_token_count: u32,
    pub(super) prompt_tokens_details: [ModalityCount; 1],
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) thoughts_token_count: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModalityCount {
    pub(super) modality: &'static str,
    pub(super) token_count: u32,
}

impl Usage {
    pub(super) fn new(prompt: u32, candidates: u32, thoughts: u32) -> Self {
        Self {
            prompt_token_count: prompt,
            candidates_token_count: candidates,
            total_token_count: prompt + candidates + thoughts,
            prompt_tokens_details: [ModalityCount { modality: "TEXT", token_count: prompt }],
            thoughts_token_count: thoughts,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
