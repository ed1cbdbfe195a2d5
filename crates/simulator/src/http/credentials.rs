//! The key that a request brings, wherever it carries it.

use super::Received;

/// What a request shows for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credentials {
    Missing,
    Bad,
    Good,
}

impl Credentials {
    /// Of a request for Gemini: `x-goog-api-key`, `?key=` or a bearer token.
    pub(crate) fn of(request: &Received, bad_keys: &[String]) -> Self {
        let header = request.header("x-goog-api-key");
        let key = header.or_else(|| request.parameter("key")).or_else(|| bearer(request));
        match key {
            None | Some("") => Self::Missing,
            Some(key) if bad_keys.iter().any(|bad| key.starts_with(bad)) => Self::Bad,
            Some(_) => Self::Good,
        }
    }
}

/// Whether the request is made in OpenAI's manner, with nothing but a bearer token.
pub(super) fn is_openai_style(request: &Received) -> bool {
    bearer(request).is_some()
        && request.header("x-goog-api-key").is_none()
        && request.parameter("key").is_none()
}

fn bearer(request: &Received) -> Option<&str> {
    let value = request.header("authorization")?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}
