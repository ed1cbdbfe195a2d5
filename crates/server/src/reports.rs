//! `GET /v1/reports` and `GET /v1/reports/NAME`: the latency log's reports, as `kiwari report` prints them.
//!
//! A report may take seconds. No more than two are made at once, within bounds of their own, and on connections that
//! nobody else waits for.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use domain::{AppName, Causes};
use ledger::reports::{self, Bounds, NAMES, ReportError, Scope, Source};
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::problem::{Code, Problem};
use crate::service::Service;

/// Reports that are made at once.
const AT_ONCE: usize = 2;

/// What one may take. A browser tab or a script waits that long, and what is longer is for `kiwari report`.
const BOUNDS: Bounds = Bounds { time: Duration::from_secs(10), rows: 50_000 };

/// How far back to look, unless said: as the command does.
const USUAL_SINCE: Duration = Duration::from_secs(3600);

const PARAMETERS: &str = "since, app, per and format";

/// Where reports are read from.
#[derive(Debug)]
pub struct Reports {
    /// `None`: the server runs without a latency log.
    source: Option<Source>,
    permits: Semaphore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Csv,
}

/// The parameters, as understood.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    since: Duration,
    app: Option<AppName>,
    per: Option<String>,
    format: Format,
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: &'static str,
    /// What its rows can be asked per.
    per: &'static [&'static str],
}

impl Reports {
    /// Reports from `source`; `None` where there is no latency log.
    #[must_use]
    pub fn of(source: Option<Source>) -> Self {
        Self { source, permits: Semaphore::new(AT_ONCE) }
    }
}

/// Which reports there are.
pub(crate) async fn list() -> Response {
    let listed = NAMES.map(|name| Listed {
        name,
        about: reports::about(name).unwrap_or_default(),
        per: reports::periods(name),
    });
    Json(listed).into_response()
}

/// One report.
pub(crate) async fn report(
    State(service): State<Arc<Service>>,
    name: Result<Path<String>, PathRejection>,
    parameters: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(parameters) = parameters.map_err(|error| {
        Problem::new(Code::InvalidField, format!("the parameters cannot be read: {error}"))
    })?;
    let asked = Asked::read(parameters)?;
    let Path(name) = name.map_err(|_not_a_text| {
        Problem::new(Code::UnknownReport, "there is no report of a name that is not UTF-8")
    })?;
    let reports = service.reports.as_ref();
    let source = reports.and_then(|reports| Some((reports, reports.source.as_ref()?)));
    let Some((reports, source)) = source else {
        let detail = "this server runs without a latency log; its own log says why";
        return Err(Problem::new(Code::ReportUnavailable, detail));
    };
    let Ok(_permit) = reports.permits.try_acquire() else {
        let detail = format!("{AT_ONCE} reports are being made already; try again in a moment");
        return Err(Problem::new(Code::Overloaded, detail));
    };
    let table = reports::run_within(source, &name, asked.scope(), BOUNDS).await;
    let table = table.map_err(|error| problem(&error))?;
    Ok(match asked.format {
        Format::Json => Json(table).into_response(),
        Format::Csv => {
            ([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], table.to_csv()).into_response()
        }
    })
}

impl Asked {
    fn read(parameters: Vec<(String, String)>) -> Result<Self, Problem> {
        let mut asked = Self { since: USUAL_SINCE, app: None, per: None, format: Format::Json };
        let mut seen: Vec<String> = Vec::new();
        for (name, value) in parameters {
            if seen.contains(&name) {
                return Err(invalid(&name, format!("{name} may be given once")));
            }
            match name.as_str() {
                "since" => asked.since = since(&value)?,
                "app" => asked.app = Some(app(&value)?),
                "per" => asked.per = Some(value),
                "format" => asked.format = format(&value)?,
                _ => {
                    let detail = format!("there is no parameter {name:?}; there are {PARAMETERS}");
                    return Err(Problem::new(Code::UnknownField, detail).at(name));
                }
            }
            seen.push(name);
        }
        Ok(asked)
    }

    fn scope(&self) -> Scope<'_> {
        let since = SystemTime::now().checked_sub(self.since);
        Scope {
            since: since.unwrap_or(SystemTime::UNIX_EPOCH),
            app: self.app.as_ref().map(AppName::as_str),
            per: self.per.as_deref(),
        }
    }
}

fn since(value: &str) -> Result<Duration, Problem> {
    humantime::parse_duration(value)
        .map_err(|_| invalid("since", "since must be a duration such as 1h or 7d"))
}

fn app(value: &str) -> Result<AppName, Problem> {
    value.parse().map_err(|error: domain::InvalidAppName| invalid("app", error.to_string()))
}

fn format(value: &str) -> Result<Format, Problem> {
    match value {
        "json" => Ok(Format::Json),
        "csv" => Ok(Format::Csv),
        _ => Err(invalid("format", "format must be json or csv")),
    }
}

fn invalid(name: &str, detail: impl Into<String>) -> Problem {
    Problem::new(Code::InvalidField, detail).at(name)
}

fn problem(error: &ReportError) -> Problem {
    match error {
        ReportError::Unknown { .. } => Problem::new(Code::UnknownReport, error.to_string()),
        ReportError::Per { .. } => invalid("per", error.to_string()),
        ReportError::TooLong { .. } => {
            let detail = format!("{error}; narrow it with since, app or per");
            Problem::new(Code::ReportTooLong, detail).at("since")
        }
        ReportError::OutOfTime { .. } => {
            let detail = format!("{error}; narrow it with since or app, or use `kiwari report`");
            Problem::new(Code::ReportTimeout, detail)
        }
        ReportError::Postgres(_) | ReportError::Sqlite(_) => {
            tracing::warn!(error = %Causes(error), "a report cannot be read");
            Problem::new(Code::ReportUnavailable, "the latency log cannot be read at the moment")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parameters: &[(&str, &str)]) -> Result<Asked, Problem> {
        let owned = parameters.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Asked::read(owned.collect())
    }

    #[test]
    fn parameters_are_those_of_the_command() {
        let asked = read(&[("since", "7d"), ("app", "shop"), ("per", "day"), ("format", "csv")]);
        let expected = Asked {
            since: Duration::from_secs(7 * 86_400),
            app: Some("shop".parse().unwrap()),
            per: Some("day".to_owned()),
            format: Format::Csv,
        };
        assert_eq!(asked, Ok(expected));
        assert_eq!(read(&[]).unwrap().since, USUAL_SINCE);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (name, value) in [("since", "soon"), ("app", "../etc"), ("format", "xml"), ("app", "")]
        {
            let problem = read(&[(name, value)]).unwrap_err();
            assert_eq!(problem.code(), Code::InvalidField, "{name}={value}");
        }
        assert_eq!(read(&[("sinse", "1h")]).unwrap_err().code(), Code::UnknownField);
        let twice = read(&[("since", "1h"), ("since", "2h")]).unwrap_err();
        assert_eq!(twice, invalid("since", "since may be given once"));
    }

    #[test]
    fn a_history_of_longer_than_there_has_been_time_is_all_of_it() {
        let asked = read(&[("since", "1000000y")]).unwrap();
        assert!(asked.scope().since <= SystemTime::UNIX_EPOCH);
    }
}
