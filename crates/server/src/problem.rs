//! [`Problem`]: errors as RFC 9457 documents with a stable `code`.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// What went wrong, for programs. Codes are never renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    MalformedJson,
    MissingField,
    InvalidField,
    UnknownField,
    InvalidBudget,
    QuestionEmpty,
    QuestionWithoutWords,
    QuestionTooLong,
    AppRequired,
    UnknownApp,
    NotFound,
    MethodNotAllowed,
    UnsupportedMediaType,
    BodyTooLarge,
    BodyTimeout,
    IndexMissing,
    UnknownReport,
    /// The report is larger than one may be.
    ReportTooLong,
    ReportTimeout,
    /// What reports are read from cannot be read.
    ReportUnavailable,
    Overloaded,
    Internal,
}

impl Code {
    /// The code and the status that goes with it.
    fn parts(self) -> (&'static str, StatusCode) {
        match self {
            Self::MalformedJson => ("malformed_json", StatusCode::BAD_REQUEST),
            Self::MissingField => ("missing_field", StatusCode::BAD_REQUEST),
            Self::InvalidField => ("invalid_field", StatusCode::BAD_REQUEST),
            Self::UnknownField => ("unknown_field", StatusCode::BAD_REQUEST),
            Self::InvalidBudget => ("invalid_budget", StatusCode::BAD_REQUEST),
            Self::QuestionEmpty => ("question_empty", StatusCode::BAD_REQUEST),
            Self::QuestionWithoutWords => ("question_without_words", StatusCode::BAD_REQUEST),
            Self::QuestionTooLong => ("question_too_long", StatusCode::BAD_REQUEST),
            Self::AppRequired => ("app_required", StatusCode::BAD_REQUEST),
            Self::UnknownApp => ("unknown_app", StatusCode::NOT_FOUND),
            Self::NotFound => ("not_found", StatusCode::NOT_FOUND),
            Self::MethodNotAllowed => ("method_not_allowed", StatusCode::METHOD_NOT_ALLOWED),
            Self::UnsupportedMediaType => {
                ("unsupported_media_type", StatusCode::UNSUPPORTED_MEDIA_TYPE)
            }
            Self::BodyTooLarge => ("body_too_large", StatusCode::PAYLOAD_TOO_LARGE),
            Self::BodyTimeout => ("body_timeout", StatusCode::REQUEST_TIMEOUT),
            Self::IndexMissing => ("index_missing", StatusCode::SERVICE_UNAVAILABLE),
            Self::UnknownReport => ("unknown_report", StatusCode::NOT_FOUND),
            Self::ReportTooLong => ("report_too_long", StatusCode::BAD_REQUEST),
            Self::ReportTimeout => ("report_timeout", StatusCode::GATEWAY_TIMEOUT),
            Self::ReportUnavailable => ("report_unavailable", StatusCode::SERVICE_UNAVAILABLE),
            Self::Overloaded => ("overloaded", StatusCode::SERVICE_UNAVAILABLE),
            Self::Internal => ("internal", StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    /// The stable text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.parts().0
    }

    /// In how many seconds a client may try again, where that helps.
    fn retry_after(self) -> Option<&'static str> {
        match self {
            // An operator has to index, or a database has to come back; a client may look again soon.
            Self::IndexMissing | Self::ReportUnavailable => Some("10"),
            Self::Overloaded => Some("1"),
            Self::MalformedJson
            | Self::MissingField
            | Self::InvalidField
            | Self::UnknownField
            | Self::InvalidBudget
            | Self::QuestionEmpty
            | Self::QuestionWithoutWords
            | Self::QuestionTooLong
            | Self::AppRequired
            | Self::UnknownApp
            | Self::NotFound
            | Self::MethodNotAllowed
            | Self::UnsupportedMediaType
            | Self::BodyTooLarge
            | Self::BodyTimeout
            | Self::UnknownReport
            | Self::ReportTooLong
            | Self::ReportTimeout
            | Self::Internal => None,
        }
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(self) -> StatusCode {
        self.parts().1
    }
}

/// An error on its way to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    code: Code,
    detail: String,
    /// The field or header at fault.
    field: Option<String>,
    /// For 405: what is allowed.
    allow: Option<&'static str>,
}

#[derive(Serialize)]
struct Document<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    code: &'a str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
}

impl Problem {
    /// A problem that `detail` explains to whoever sent the request.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), field: None, allow: None }
    }

    /// Names the field or header at fault.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Names the methods that the path does take.
    #[must_use]
    pub(crate) fn allowing(mut self, methods: &'static str) -> Self {
        self.allow = Some(methods);
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.code.status();
        let document = Document {
            r#type: format!("urn:kiwari:problem:{}", self.code.as_str()),
            title: status.canonical_reason().unwrap_or_default(),
            status: status.as_u16(),
            code: self.code.as_str(),
            detail: &self.detail,
            field: self.field.as_deref(),
        };
        let mut response = (status, Json(document)).into_response();
        response.extensions_mut().insert(self.code);
        let mut set = |name: HeaderName, value: &'static str| {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        };
        set(header::CONTENT_TYPE, "application/problem+json");
        if let Some(methods) = self.allow {
            set(header::ALLOW, methods);
        }
        if let Some(seconds) = self.code.retry_after() {
            set(header::RETRY_AFTER, seconds);
        }
        response
    }
}
