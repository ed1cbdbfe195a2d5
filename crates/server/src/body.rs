//! Reading a request's body: bounded in size and in time, and JSON or nothing.

use axum::body::Body;
use axum::http::{HeaderMap, header};
use deadline::Deadline;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Map, Value};

use crate::problem::{Code, Problem};

/// A question of the longest kind, every character escaped, with room to spare.
pub(crate) const LARGEST: usize = 128 * 1024;

/// The body as a JSON object.
///
/// # Errors
///
/// A [`Problem`] for a wrong content type, a body too large or too slow, and anything but a JSON object.
pub(crate) async fn json_object(
    headers: &HeaderMap,
    body: Body,
    deadline: Deadline,
) -> Result<Map<String, Value>, Problem> {
    check_content_type(headers)?;
    let read = deadline.run(Limited::new(body, LARGEST).collect()).await.map_err(|_late| {
        Problem::new(Code::BodyTimeout, "the request's body did not arrive within its budget")
    })?;
    let bytes = read.map_err(|error| unreadable(error.as_ref()))?.to_bytes();
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_other) => Err(Problem::new(Code::MalformedJson, "the body must be a JSON object")),
        Err(error) => Err(Problem::new(
            Code::MalformedJson,
            format!(
                "the body is not valid JSON (line {}, column {})",
                error.line(),
                error.column()
            ),
        )),
    }
}

fn unreadable(error: &(dyn std::error::Error + 'static)) -> Problem {
    if error.is::<LengthLimitError>() {
        Problem::new(Code::BodyTooLarge, format!("the body may hold at most {LARGEST} bytes"))
    } else {
        Problem::new(Code::MalformedJson, "the body broke off before its end")
    }
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get(header::CONTENT_TYPE).map_or(b"".as_slice(), |value| value.as_bytes());
    let essence = given.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if essence.eq_ignore_ascii_case(b"application/json") {
        Ok(())
    } else {
        let detail = "send the question as JSON, with content-type: application/json";
        Err(Problem::new(Code::UnsupportedMediaType, detail).at("content-type"))
    }
}
