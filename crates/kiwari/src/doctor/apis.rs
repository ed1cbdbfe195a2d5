//! The model APIs: whether they can be reached, take our key, and know the models.

use std::error::Error;
use std::sync::Arc;

use deadline::Deadline;
use domain::{Call, Fault};
use serde_json::Value;
use tokio::time::Duration;
use upstream::{ErrorKind, Upstream, UpstreamError};

use super::{Check, timed};
use crate::compose::Engine;
use crate::config::{Config, Provider};

/// How long an API may take to say which models it has.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn examine(config: &Config, engine: &Engine) -> Vec<Check> {
    let Some(models) = engine.models() else {
        let names_model = !config.generate.model.is_empty();
        if engine.apis.openai.is_some() && !names_model && config.generate.provider != Provider::Off
        {
            let detail = "OPENAI_API_KEY or OPENAI_BASE_URL is set, but generate.model names no model to ask";
            return vec![Check::warning("answering model", detail)];
        }
        let why = match config.generate.provider {
            Provider::Off => "generate.provider is off",
            Provider::Auto | Provider::Gemini | Provider::Openai => {
                "no key is set (GEMINI_API_KEY, or OPENAI_API_KEY with generate.model)"
            }
        };
        let detail = format!("none: answers are made of the articles' own sentences; {why}");
        return vec![Check::ok("answering model", detail)];
    };
    let mut checks = vec![model("answering model", models.primary.model(), engine).await];
    if let Some(lighter) = &models.lighter {
        checks.push(model("lighter model", lighter.model(), engine).await);
    }
    checks
}

async fn model(name: &str, model: &str, engine: &Engine) -> Check {
    let apis = &engine.apis;
    let look = async {
        match (engine.writer(), &apis.gemini, &apis.openai) {
            (Some(Provider::Openai), _, Some(api)) => {
                openai(name, model, &api.upstream(model)).await
            }
            (Some(_), Some(api), _) => gemini(name, model, &api.upstream(model)).await,
            (_, _, _) => Check::failed(name, "its API is not configured"),
        }
    };
    timed(look).await
}

async fn gemini(name: &str, model: &str, upstream: &Arc<Upstream>) -> Check {
    let collection = if model.contains('/') { "" } else { "models/" };
    let path = format!("/v1beta/{collection}{model}");
    match upstream.get(&path, &call()).await {
        Ok(_described) => Check::ok(name, format!("{model} of Gemini takes our key")),
        Err(fault) => Check::failed(name, format!("{model} of Gemini: {}", words(&fault))),
    }
}

async fn openai(name: &str, model: &str, upstream: &Arc<Upstream>) -> Check {
    let listed = match upstream.get("/models", &call()).await {
        Ok(listed) => listed,
        Err(fault) => {
            return Check::failed(name, format!("{model}: {}", words(&fault)));
        }
    };
    let listed: Value = serde_json::from_slice(&listed).unwrap_or_default();
    let models = listed["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    if models.iter().any(|listed| listed["id"] == model) {
        Check::ok(name, format!("{model} is served"))
    } else {
        let detail = format!("the server does not list {model} among its {} models", models.len());
        Check::warning(name, detail)
    }
}

fn call() -> Call {
    Call::background("doctor", Deadline::after(PATIENCE))
}

/// What went wrong, and what to do about it.
pub(super) fn words(fault: &Fault) -> String {
    let Some(error) = fault.source().and_then(|source| source.downcast_ref::<UpstreamError>())
    else {
        return "no answer in time: it is slow, or something between drops the connection"
            .to_owned();
    };
    let advice = match error.kind {
        ErrorKind::BadKey => "the key is wrong or not allowed; check the environment variable",
        ErrorKind::NotFound => "there is no such model there; check its name and the base URL",
        ErrorKind::BadRequest => "the request is refused; check the model's settings",
        ErrorKind::RateLimited => "too many calls for the moment; try again",
        ErrorKind::Quota => "the allowance is used up, or nothing is paid",
        ErrorKind::Unavailable => "the service is not well",
        ErrorKind::Unreachable => "no connection; check the base URL, the network and the proxy",
        ErrorKind::Tls => "no secure connection; check the certificates and the proxy",
        ErrorKind::Broken | ErrorKind::TooLarge => "what came back is no reply of such an API",
        ErrorKind::BreakerOpen => "not called, after too many failures",
    };
    format!("{advice} ({error})")
}
