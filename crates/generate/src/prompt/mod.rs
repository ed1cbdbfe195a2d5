//! What a model is told, in words that no provider's wire shows in.

mod fence;
mod fit;
mod languages;
mod length;
mod system;
mod tokens;

use domain::{Language, Prompt};

use fence::{fenced_question, without_fences};
use fit::fitting;
pub use tokens::estimated_tokens;

/// What a model writes, and nothing else, when the passages do not answer the question.
pub const NO_ANSWER: &str = "NO_ANSWER_IN_PASSAGES";

/// A prompt put into words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The rules; the same for every question answered in one language, so that a provider can cache them.
    pub system: String,
    /// The passages, how long the answer may be, and the question, which comes last.
    pub user: String,
}

impl Written {
    /// About how many tokens a model has to read.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        estimated_tokens(&self.system) + estimated_tokens(&self.user)
    }
}

/// Puts `prompt` into words of about `input_token_limit` tokens at most, asking for an answer of about
/// `answer_tokens`.
///
/// What does not fit is left out from the worst passage on; a best passage that alone is too long is cut at
/// the end of a sentence. The question is never cut, even where it alone is over the limit.
#[must_use]
pub fn write_prompt(prompt: &Prompt, answer_tokens: u32, input_token_limit: u64) -> Written {
    let system = system::rules(prompt.answer_lang);
    let request = request(prompt.question.text(), prompt.answer_lang, answer_tokens);
    let taken = estimated_tokens(&system) + estimated_tokens(&request);
    let passages = fitting(&prompt.passages, input_token_limit.saturating_sub(taken));
    Written { system, user: passages + &request }
}

/// What follows the passages. How long the answer may be stands here and not among the rules, because it
/// changes with the time that is left.
fn request(question: &str, lang: Language, answer_tokens: u32) -> String {
    let length = length::hint(lang, answer_tokens);
    format!("{length}\n{}\n", fenced_question(&without_fences(question)))
}

#[cfg(test)]
mod tests;
