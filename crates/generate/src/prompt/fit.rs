//! Which passages a prompt has room for.

use std::sync::Arc;

use domain::Passage;
use template::sentence::cut_at_sentence;

use super::fence::{as_data, fenced_passage};
use super::tokens::{estimated_tokens, prefix_of_tokens};

/// The best of `passages` that fit `room` tokens together, numbered and fenced, with an empty line behind each.
///
/// The first that does not fit is the last looked at: a worse one that would fit must not take its place, or
/// the model would be told less of what answers best.
pub(super) fn fitting(passages: &[Arc<Passage>], room: u64) -> String {
    let mut text = String::new();
    let mut left = room;
    for (number, passage) in (1..).zip(passages) {
        let whole = fenced_passage(number, passage, &as_data(&passage.text)) + "\n";
        let tokens = estimated_tokens(&whole);
        if tokens > left {
            break;
        }
        left -= tokens;
        text.push_str(&whole);
    }
    if text.is_empty() {
        return passages.first().and_then(|best| cut_to_fit(best, room)).unwrap_or_default();
    }
    text
}

/// The start of `passage`, in its fence, in `room` tokens; `None` if there is no room for any of it.
fn cut_to_fit(passage: &Passage, room: u64) -> Option<String> {
    let around = estimated_tokens(&(fenced_passage(1, passage, "") + "\n"));
    let text = as_data(&passage.text);
    let prefix = prefix_of_tokens(&text, room.checked_sub(around)?);
    let kept = cut_at_sentence(prefix).unwrap_or(prefix);
    (!kept.trim().is_empty()).then(|| fenced_passage(1, passage, kept) + "\n")
}
