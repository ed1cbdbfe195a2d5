//! Gemini's REST API.

mod embed;
mod generate;
mod models;
mod refusal;
mod shape;
mod thinking;
mod voice;
mod wire;

use std::time::Duration;

use serde_json::Value;

pub(crate) use models::{Ability, is_able, names};
pub(crate) use refusal::{GATEWAY_PAGE, Packing, Refusal, error_of};
pub(crate) use thinking::thinking;

use crate::http::{Credentials, GeminiCall, JSON, Outline, Received, Reply};
use crate::journal::Call;
use crate::state::State;

/// The least `X-Server-Timeout` that is accepted.
const LEAST_DEADLINE_SECONDS: u64 = 10;

/// The reply to one request.
pub(crate) async fn answer(
    state: &State,
    asked: &GeminiCall,
    received: &Received,
    call: &mut Call,
) -> Reply {
    let packing = if let GeminiCall::Generate { form, .. } = asked {
        generate::packing(*form)
    } else {
        Packing::Bare
    };
    match try_answer(state, asked, received, call).await {
        Ok(reply) => reply,
        Err(refusal) => Reply::Send(refusal.outline(packing)),
    }
}

async fn try_answer(
    state: &State,
    asked: &GeminiCall,
    received: &Received,
    call: &mut Call,
) -> Result<Reply, Refusal> {
    if *asked == GeminiCall::Unknown {
        return Err(Refusal::no_path());
    }
    check_credentials(state, received)?;
    let version = call.entry_mut().path.split('/').nth(1).unwrap_or_default().to_owned();
    let check = |model: &str, ability, method| {
        check_deadline(state, received)?;
        if is_able(model, ability) {
            Ok(())
        } else {
            Err(Refusal::no_model(model, &version, method))
        }
    };
    match asked {
        GeminiCall::Generate { model, form } => {
            check(model, Ability::Generate, "generateContent")?;
            generate::generate(state, model, *form, received, call)
        }
        GeminiCall::Embed { model } => {
            check(model, Ability::Embed, "embedContent")?;
            embed::one(state, model, received, call).await
        }
        GeminiCall::BatchEmbed { model } => {
            check(model, Ability::Embed, "embedContent")?;
            embed::batch(state, model, received, call).await
        }
        GeminiCall::CountTokens { model } => {
            check_deadline(state, received)?;
            model.clone_into(&mut call.entry_mut().model);
            generate::count(received)
        }
        GeminiCall::ListModels => Ok(Reply::Send(say(&models::list()))),
        GeminiCall::GetModel { model } if models::exists(model) => {
            Ok(Reply::Send(say(&models::describe(model))))
        }
        GeminiCall::GetModel { model } => Err(Refusal::no_model(model, &version, "getModel")),
        GeminiCall::Unknown => Err(Refusal::no_path()),
    }
}

fn check_credentials(state: &State, received: &Received) -> Result<(), Refusal> {
    match Credentials::of(received, &state.settings.bad_keys) {
        Credentials::Good => Ok(()),
        Credentials::Missing => Err(Refusal::no_key()),
        Credentials::Bad => Err(Refusal::bad_key()),
    }
}

/// Refuses a deadline that is shorter than the API allows, if that is to be so.
fn check_deadline(state: &State, received: &Received) -> Result<(), Refusal> {
    let asked = received.header("x-server-timeout").filter(|_| state.settings.deadline_floor);
    match asked.map(|text| (text, text.parse::<f64>())) {
        Some((text, Ok(seconds))) if seconds < LEAST_DEADLINE_SECONDS as f64 => {
            Err(Refusal::deadline_too_short(text))
        }
        _ => Ok(()),
    }
}

/// A reply at once, indented.
fn say(value: &Value) -> Outline {
    let body = serde_json::to_vec_pretty(value).expect("plain data is always JSON");
    Outline::whole(Duration::ZERO, 200, JSON, body)
}
