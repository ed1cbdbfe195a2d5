use serde_json::error::Category;
use thiserror::Error;

/// Why a reply cannot be used. None of these holds text of a prompt or an answer.
#[derive(Debug, Error)]
pub(crate) enum ReplyError {
    /// Without the error that says more: it quotes what it found.
    #[error("an event of the reply is not the JSON it should be: {}", wrong(*.0))]
    Malformed(Category),
    #[error("a line of the reply is not UTF-8")]
    NotUtf8,
    #[error("an event of the reply is longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("the reply ended without saying why")]
    CutOff,
    #[error("the reply is whole and says nothing")]
    Empty,
    #[error("all output tokens went into thinking")]
    ThinkingExhausted,
    #[error("the provider refused the content: {0}")]
    Blocked(String),
    #[error("the model stopped for another reason than being done: {0}")]
    Stopped(String),
}

fn wrong(category: Category) -> &'static str {
    match category {
        Category::Data => "a member is of another type",
        Category::Eof => "it breaks off",
        Category::Syntax | Category::Io => "it is no JSON at all",
    }
}
