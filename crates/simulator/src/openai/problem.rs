//! Errors as OpenAI words them; under Gemini's prefix, as Gemini does.

use std::time::Duration;

use serde_json::{Value, json};

use crate::faults::{Fault, FaultKind};
use crate::gemini::{self, GATEWAY_PAGE, Packing, Refusal};
use crate::http::{HTML, OpenAiFlavour, Outline};

const JSON: &str = "application/json";

/// A request that is answered with an error.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) status: u16,
    pub(super) message: String,
    pub(super) kind: &'static str,
    pub(super) code: Value,
}

impl Problem {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self {
            status: 400,
            message: message.into(),
            kind: "invalid_request_error",
            code: Value::Null,
        }
    }

    pub(super) fn bad_key() -> Self {
        let message = "Incorrect API key provided.".to_owned();
        let code = json!("invalid_api_key");
        Self { status: 401, message, kind: "invalid_request_error", code }
    }

    pub(super) fn no_key() -> Self {
        let message = "You didn't provide an API key.".to_owned();
        Self { code: Value::Null, message, ..Self::bad_key() }
    }

    pub(super) fn no_model(model: &str) -> Self {
        let message =
            format!("The model `{model}` does not exist or you do not have access to it.");
        let code = json!("model_not_found");
        Self { status: 404, message, kind: "invalid_request_error", code }
    }

    pub(super) fn no_path() -> Self {
        let message = "Invalid URL".to_owned();
        Self { status: 404, message, kind: "invalid_request_error", code: Value::Null }
    }

    pub(super) fn unavailable() -> Self {
        let message = "The server is overloaded. Please try again later.".to_owned();
        Self { status: 503, message, kind: "server_error", code: json!("overloaded") }
    }

    fn of(fault: &Fault) -> Option<Self> {
        let server = |status, message: &str| Self {
            status,
            message: message.to_owned(),
            kind: "server_error",
            code: Value::Null,
        };
        let limited = |message: &str, kind, code: &str| Self {
            status: 429,
            message: message.to_owned(),
            kind,
            code: json!(code),
        };
        Some(match Some(fault.kind) {
            Some(FaultKind::RateLimitedMinute) => {
                limited("Rate limit reached for requests.", "requests", "rate_limit_exceeded")
            }
            Some(FaultKind::RateLimitedDay) => limited(
                "You exceeded your current quota, please check your plan and billing details.",
                "insufficient_quota",
                "insufficient_quota",
            ),
            Some(FaultKind::Unavailable) => Self::unavailable(),
            Some(FaultKind::DeadlineExceeded) => server(504, "The request timed out."),
            Some(FaultKind::Internal) => {
                server(500, "The server had an error processing your request.")
            }
            _ => return None,
        })
    }

    /// The error object.
    pub(super) fn object(&self) -> Value {
        let Self { message, kind, code, .. } = self;
        json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
    }

    pub(super) fn outline(&self) -> Outline {
        let body = serde_json::to_vec_pretty(&self.object()).expect("plain data is always JSON");
        Outline::whole(Duration::ZERO, self.status, JSON, body)
    }
}

/// The error reply that `fault` means, if it means one.
pub(super) fn error_of(
    flavour: OpenAiFlavour,
    fault: &Fault,
    model: &str,
    retry_delay: Duration,
) -> Option<Outline> {
    if flavour == OpenAiFlavour::Gemini {
        return gemini::error_of(fault, model, retry_delay, Packing::Array);
    }
    if fault.kind == FaultKind::Html502 {
        return Some(Outline::whole(Duration::ZERO, 502, HTML, GATEWAY_PAGE));
    }
    let outline = Problem::of(fault)?.outline();
    if fault.kind != FaultKind::RateLimitedMinute {
        return Some(outline);
    }
    let delay = fault.retry_delay_ms.map_or(retry_delay, Duration::from_millis);
    let seconds = delay.as_secs_f64().ceil();
    Some(
        outline
            .header("retry-after", &seconds.to_string())
            .header("retry-after-ms", &delay.as_millis().to_string())
            .header("x-ratelimit-limit-requests", "15")
            .header("x-ratelimit-remaining-requests", "0")
            .header("x-ratelimit-reset-requests", &format!("{seconds}s")),
    )
}

/// A refusal in the words of either flavour.
pub(super) fn refused(flavour: OpenAiFlavour, problem: &Problem) -> Outline {
    match (flavour, problem.status) {
        (OpenAiFlavour::Plain, _) => problem.outline(),
        (OpenAiFlavour::Gemini, 401) if problem.code.is_null() => {
            Refusal::no_key().outline(Packing::Array)
        }
        (OpenAiFlavour::Gemini, 401) => Refusal::bad_key().outline(Packing::Array),
        (OpenAiFlavour::Gemini, 404) => {
            let refusal = Refusal { message: problem.message.clone(), ..Refusal::no_path() };
            refusal.outline(Packing::Array)
        }
        (OpenAiFlavour::Gemini, _) => {
            Refusal::invalid(problem.message.clone()).outline(Packing::Array)
        }
    }
}
