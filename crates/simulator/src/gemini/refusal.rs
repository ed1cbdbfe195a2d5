//! Errors as Gemini words them: `google.rpc.Status` in JSON.

use std::time::Duration;

use serde_json::{Value, json};

use crate::faults::{Fault, FaultKind};
use crate::http::{HTML, JSON, Outline};

/// A request that is answered with an error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) status: &'static str,
    pub(crate) message: String,
    pub(crate) details: Vec<Value>,
}

/// How the error object is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Bare,
    /// In an array of one: streams without `alt=sse`, and OpenAI's paths.
    Array,
}

const OVERLOADED: &str = "This model is currently experiencing high demand. Spikes in demand are usually \
                          temporary. Please try again later.";
const NO_KEY: &str = "Method doesn't allow unregistered callers (callers without established identity). \
                      Please use API Key or other form of API consumer identity to call this API.";
const BAD_KEY: &str = "API key not valid. Please pass a valid API key.";
const LATE: &str = "Deadline expired before operation could complete.";
const INTERNAL: &str = "An internal error has occurred. Please retry or report in \
                        https://developers.generativeai.google/guide/troubleshooting";
pub(crate) const GATEWAY_PAGE: &str = "<!DOCTYPE html>\n<html lang=en>\n<title>Error 502 (Server Error)!!1</title>\n\
                                       <p>The server encountered a temporary error.</p>\n</html>\n";

impl Refusal {
    fn new(code: u16, status: &'static str, message: impl Into<String>) -> Self {
        Self { code, status, message: message.into(), details: Vec::new() }
    }

    fn with(mut self, details: impl IntoIterator<Item = Value>) -> Self {
        self.details.extend(details);
        self
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "INVALID_ARGUMENT", message)
    }

    /// With one violation per line of the message: the field, and what is wrong with it.
    pub(crate) fn invalid_fields(violations: &[(String, String)]) -> Self {
        let lines: Vec<&str> = violations.iter().map(|(_, what)| what.as_str()).collect();
        let fields: Vec<Value> = violations
            .iter()
            .map(|(field, what)| json!({ "field": field, "description": what }))
            .collect();
        let details = json!({ "@type": kind("BadRequest"), "fieldViolations": fields });
        Self::invalid(lines.join("\n")).with([details])
    }

    pub(crate) fn no_key() -> Self {
        Self::new(403, "PERMISSION_DENIED", NO_KEY)
    }

    pub(crate) fn bad_key() -> Self {
        Self::invalid(BAD_KEY).with([
            json!({
                "@type": kind("ErrorInfo"),
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
                "metadata": { "service": "generativelanguage.googleapis.com" },
            }),
            json!({ "@type": kind("LocalizedMessage"), "locale": "en-US", "message": BAD_KEY }),
        ])
    }

    pub(crate) fn no_cache() -> Self {
        let message = "CachedContent not found (or permission denied)";
        Self::new(403, "PERMISSION_DENIED", message)
    }

    pub(crate) fn no_path() -> Self {
        Self::new(404, "NOT_FOUND", "Requested entity was not found.")
    }

    pub(crate) fn no_model(model: &str, version: &str, method: &str) -> Self {
        let message = format!(
            "models/{model} is not found for API version {version}, or is not supported for {method}. Call \
             ModelService.ListModels to see the list of available models and their supported methods."
        );
        Self::new(404, "NOT_FOUND", message)
    }

    /// `seconds` as the caller wrote them.
    pub(crate) fn deadline_too_short(seconds: &str) -> Self {
        let least = super::LEAST_DEADLINE_SECONDS;
        Self::invalid(format!(
            "Manually set deadline {seconds}s is too short. Minimum allowed deadline is {least}s."
        ))
    }

    pub(crate) fn unavailable() -> Self {
        Self::new(503, "UNAVAILABLE", OVERLOADED)
    }

    fn rate_limited(period: &str, model: &str, delay: Duration) -> Self {
        let seconds = delay.as_secs_f64();
        let message = format!(
            "You exceeded your current quota, please check your plan and billing details. \
             Please retry in {seconds}s."
        );
        let violation = json!({
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": format!("GenerateRequestsPer{period}PerProjectPerModel-FreeTier"),
            "quotaDimensions": { "location": "global", "model": model },
            "quotaValue": "15",
        });
        let link = json!({
            "description": "Learn more about Gemini API quotas",
            "url": "https://ai.google.dev/gemini-api/docs/rate-limits",
        });
        Self::new(429, "RESOURCE_EXHAUSTED", message).with([
            json!({ "@type": kind("Help"), "links": [link] }),
            json!({ "@type": kind("QuotaFailure"), "violations": [violation] }),
            json!({ "@type": kind("RetryInfo"), "retryDelay": format!("{seconds}s") }),
        ])
    }

    /// The error object, indented.
    pub(crate) fn body(&self, packing: Packing) -> String {
        let object = self.object();
        let value = if packing == Packing::Array { json!([object]) } else { object };
        let mut text = serde_json::to_string_pretty(&value).expect("plain data is always JSON");
        text.push('\n');
        text
    }

    /// The error object on one line.
    pub(crate) fn line(&self) -> String {
        self.object().to_string()
    }

    fn object(&self) -> Value {
        let mut error =
            json!({ "code": self.code, "message": self.message, "status": self.status });
        if !self.details.is_empty() {
            error["details"] = Value::Array(self.details.clone());
        }
        json!({ "error": error })
    }

    pub(crate) fn outline(&self, packing: Packing) -> Outline {
        Outline::whole(Duration::ZERO, self.code, JSON, self.body(packing))
    }
}

/// The error reply that `fault` means, if it means one.
pub(crate) fn error_of(
    fault: &Fault,
    model: &str,
    retry_delay: Duration,
    packing: Packing,
) -> Option<Outline> {
    let delay = fault.retry_delay_ms.map_or(retry_delay, Duration::from_millis);
    let refusal = match (fault.kind, delay) {
        (FaultKind::RateLimitedMinute, delay) => Refusal::rate_limited("Minute", model, delay),
        (FaultKind::RateLimitedDay, delay) => Refusal::rate_limited("Day", model, delay),
        (FaultKind::Unavailable, _) => Refusal::unavailable(),
        (FaultKind::DeadlineExceeded, _) => Refusal::new(504, "DEADLINE_EXCEEDED", LATE),
        (FaultKind::Internal, _) => Refusal::new(500, "INTERNAL", INTERNAL),
        (FaultKind::Html502, _) => {
            return Some(Outline::whole(Duration::ZERO, 502, HTML, GATEWAY_PAGE));
        }
        (_, _) => return None,
    };
    Some(refusal.outline(packing))
}

fn kind(name: &str) -> String {
    format!("type.googleapis.com/google.rpc.{name}")
}
