//! [`Report`]: a JSON error, read from whichever shape it came in.

use serde_json::Value;

/// What a far side says of its error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// As an HTTP status, where it can be told.
    pub(super) status: Option<u16>,
    pub(super) message: String,
    /// Google's `RetryInfo.retryDelay`, such as `36.04s`.
    pub(super) retry_delay: Option<String>,
    /// Google's names of the limits that were hit.
    pub(super) quota_ids: Vec<String>,
    /// Machine-readable words, in whatever field: `RESOURCE_EXHAUSTED`, `insufficient_quota`, `API_KEY_INVALID`.
    pub(super) words: Vec<String>,
}

impl Report {
    /// Reads `{"error": …}`, that in an array of one, or the error itself: an object, or a mere string.
    pub(super) fn of(json: &Value) -> Self {
        let outer = json.as_array().and_then(|array| array.first()).unwrap_or(json);
        match outer.get("error") {
            Some(Value::String(message)) => Self::of_string(message, outer),
            Some(inner @ Value::Object(_)) => Self::of_object(inner),
            _ => Self::of_object(outer),
        }
    }

    /// For a body that is no JSON.
    pub(super) fn of_text(text: &str) -> Self {
        Self { message: text.to_owned(), ..Self::default() }
    }

    /// `{"error": "Model is overloaded", "error_type": "Overloaded"}`.
    fn of_string(message: &str, outer: &Value) -> Self {
        let words = words(outer, &["error_type", "type", "code"]);
        Self {
            status: status(outer, &words),
            message: message.to_owned(),
            words,
            ..Self::default()
        }
    }

    fn of_object(error: &Value) -> Self {
        let details = error.get("details").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut words = words(error, &["status", "type", "code"]);
        words.extend(details.iter().filter_map(|detail| text(detail, "reason")));
        Self {
            status: status(error, &words),
            message: text(error, "message").or_else(|| text(error, "detail")).unwrap_or_default(),
            retry_delay: details.iter().find_map(|detail| text(detail, "retryDelay")),
            quota_ids: details.iter().flat_map(quota_ids).collect(),
            words,
        }
    }
}

fn text(object: &Value, field: &str) -> Option<String> {
    object.get(field).and_then(Value::as_str).map(str::to_owned)
}

fn words(object: &Value, fields: &[&str]) -> Vec<String> {
    fields.iter().filter_map(|field| text(object, field)).collect()
}

fn quota_ids(detail: &Value) -> Vec<String> {
    let violations = detail.get("violations").and_then(Value::as_array);
    violations.into_iter().flatten().filter_map(|violation| text(violation, "quotaId")).collect()
}

/// A numeric `code` (or one in quotes), else what the words mean.
fn status(error: &Value, words: &[String]) -> Option<u16> {
    let code = error.get("code").or_else(|| error.get("status"));
    let number = code.and_then(|code| match code.as_str() {
        Some(quoted) => quoted.parse().ok(),
        None => code.as_u64().and_then(|number| u16::try_from(number).ok()),
    });
    number
        .filter(|number| (400..600).contains(number))
        .or_else(|| words.iter().find_map(|word| status_of_word(word)))
}

/// Google's codes, which the Interactions API spells in lower case, and `OpenAI`'s types.
fn status_of_word(word: &str) -> Option<u16> {
    let status = match word.to_ascii_lowercase().as_str() {
        "invalid_argument"
        | "failed_precondition"
        | "out_of_range"
        | "invalid_request_error"
        | "badrequesterror" => 400,
        "unauthenticated" | "authentication_error" | "invalid_api_key" => 401,
        "insufficient_quota"
        | "resource_exhausted"
        | "rate_limit_error"
        | "rate_limit_exceeded"
        | "requests"
        | "tokens"
        | "overloaded" => 429,
        "permission_denied" | "permission_error" => 403,
        "not_found" | "not_found_error" | "model_not_found" | "notfounderror" => 404,
        "deadline_exceeded" => 504,
        "unavailable" | "unavailable_error" | "overloaded_error" => 503,
        "internal" | "server_error" | "api_error" | "unknown" => 500,
        _ => return None,
    };
    Some(status)
}
