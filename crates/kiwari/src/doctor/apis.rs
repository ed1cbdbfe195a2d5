//! The model APIs: whether they can be reached, take our key, and know the models.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use deadline::Deadline;
use domain::{Call, Fault, FaultKind};
use serde_json::Value;
use upstream::{ErrorKind, Upstream, UpstreamError};

use super::check::{Check, timed};
use super::clock::{self, Offset};
use super::words::chain;
use crate::compose::Engine;
use crate::config::{Config, Provider};

const ANSWERING: &str = "models.answering";
const LIGHTER: &str = "models.lighter";

/// How long an API may take to say which models it has.
const PATIENCE: Duration = Duration::from_secs(4);

/// What was found, and how its clock stands to ours.
pub(super) struct Seen {
    pub(super) checks: Vec<Check>,
    pub(super) clock: Option<Offset>,
}

/// One model, and how the clock behind it stands to ours.
struct Look {
    check: Check,
    clock: Option<Offset>,
}

pub(super) async fn examine(config: &Config, engine: &Engine) -> Seen {
    let Some(models) = engine.models() else {
        return Seen { checks: vec![none(config, engine)], clock: None };
    };
    let lighter = async {
        let lighter = models.lighter.as_ref()?;
        Some(model(LIGHTER, lighter.model(), engine).await)
    };
    let (primary, lighter) =
        tokio::join!(model(ANSWERING, models.primary.model(), engine), lighter);
    let clock = primary.clock;
    let checks = std::iter::once(primary).chain(lighter).map(|look| look.check).collect();
    Seen { checks, clock }
}

/// No model writes, which may be meant.
fn none(config: &Config, engine: &Engine) -> Check {
    let generate = &config.generate;
    let names_model = !generate.model.is_empty();
    if engine.apis.openai.is_some() && !names_model && generate.provider != Provider::Off {
        let detail =
            "OPENAI_API_KEY or OPENAI_BASE_URL is set, but generate.model names no model to ask";
        return Check::warning(ANSWERING, detail, "name the model in generate.model");
    }
    let why = match generate.provider {
        Provider::Off => "generate.provider is off",
        Provider::Auto | Provider::Gemini | Provider::Openai => {
            "no key is set (GEMINI_API_KEY, or OPENAI_API_KEY with generate.model)"
        }
    };
    Check::ok(ANSWERING, format!("none: answers are made of the articles' own sentences; {why}"))
}

async fn model(id: &'static str, model: &str, engine: &Engine) -> Look {
    let apis = &engine.apis;
    let look = async {
        match (engine.writer(), &apis.gemini, &apis.openai) {
            (Some(Provider::Openai), _, Some(api)) => openai(id, model, &api.upstream(model)).await,
            (Some(_), Some(api), _) => gemini(id, model, &api.upstream(model)).await,
            (_, _, _) => Check::failed(id, "its API is not configured", "set its key").into(),
        }
    };
    // The call ends by itself first.
    let (look, took) = timed(PATIENCE + Duration::from_millis(200), look).await;
    let late = || {
        let advice = "see the network and the service's own status";
        Look::from(Check::failed(id, format!("{model}: no answer within {PATIENCE:?}"), advice))
    };
    let look = look.unwrap_or_else(late);
    Look { check: look.check.after(took), ..look }
}

async fn gemini(id: &'static str, model: &str, upstream: &Arc<Upstream>) -> Look {
    let collection = if model.contains('/') { "" } else { "models/" };
    let path = format!("/v1beta/{collection}{model}");
    match asked(upstream, &path).await {
        Ok((_described, clock)) => {
            Look { check: Check::ok(id, format!("{model} of Gemini takes our key")), clock }
        }
        Err(fault) => failed(id, &format!("{model} of Gemini"), &fault),
    }
}

async fn openai(id: &'static str, model: &str, upstream: &Arc<Upstream>) -> Look {
    let (listed, clock) = match asked(upstream, "/models").await {
        Ok(asked) => asked,
        Err(fault) => return failed(id, model, &fault),
    };
    let models = listed["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let check = if models.iter().any(|listed| listed["id"] == model) {
        Check::ok(id, format!("{model} is served"))
    } else {
        let detail = format!("the server does not list {model} among its {} models", models.len());
        Check::warning(id, detail, "see generate.model, or whether the server hides some")
    };
    Look { check, clock }
}

fn failed(id: &'static str, name: &str, fault: &Fault) -> Look {
    let (detail, advice) = words(fault);
    Check::failed(id, format!("{name}: {detail}"), advice).into()
}

impl From<Check> for Look {
    fn from(check: Check) -> Self {
        Self { check, clock: None }
    }
}

/// What is at `path`, as JSON, and what the far side's clock said.
async fn asked(upstream: &Upstream, path: &str) -> Result<(Value, Option<Offset>), Fault> {
    let call = Call::background("doctor", Deadline::after(PATIENCE));
    let before = SystemTime::now();
    let (reply, date) = upstream.get_dated(path, &call).await?;
    let took = before.elapsed().unwrap_or_default();
    let clock = date.and_then(|date| clock::of_date(date.to_str().ok()?, before, took));
    Ok((serde_json::from_slice(&reply).unwrap_or_default(), clock))
}

/// What went wrong, and what to do about it.
pub(super) fn words(fault: &Fault) -> (String, &'static str) {
    let Some(error) = fault.source().and_then(|source| source.downcast_ref::<UpstreamError>())
    else {
        return if fault.kind() == FaultKind::Timeout {
            let detail = "no answer in time: it is slow, or something between drops the connection";
            (detail.to_owned(), "see the base URL, the network, and the service's own status")
        } else {
            (chain(fault), "see what it says")
        };
    };
    let (detail, advice) = match error.kind {
        ErrorKind::BadKey => ("the key is wrong or not allowed", "check the environment variable"),
        ErrorKind::NotFound => ("there is no such model there", "check its name and the base URL"),
        ErrorKind::BadRequest => ("the request is refused", "check the model's settings"),
        ErrorKind::RateLimited => ("too many calls for the moment", "try again in a minute"),
        ErrorKind::Quota => {
            ("the allowance is used up, or nothing is paid", "see the account at the provider")
        }
        ErrorKind::Unavailable => ("the service is not well", "see the service's own status"),
        ErrorKind::Unreachable => {
            ("no connection", "check the base URL, the network and the proxy")
        }
        ErrorKind::Tls => ("no secure connection", "check the certificates and the proxy"),
        ErrorKind::Broken | ErrorKind::TooLarge => {
            ("what came back is no reply of such an API", "check the base URL")
        }
        ErrorKind::BreakerOpen => ("not called, after too many failures", "try again"),
    };
    (format!("{detail} ({error})"), advice)
}
