//! OpenAI's REST API, as many servers speak it, Gemini under a prefix of its own.

mod chat;
mod embeddings;
mod problem;
mod voice;

use std::time::Duration;

use serde_json::{Value, json};

use crate::gemini::{Ability, is_able, names};
use crate::http::{Credentials, OpenAiCall, OpenAiFlavour, Outline, Received, Reply};
use crate::journal::Call;
use crate::state::State;
use problem::{Problem, refused};

const JSON: &str = "application/json";

/// The reply to one request.
pub(crate) async fn answer(
    state: &State,
    flavour: OpenAiFlavour,
    asked: &OpenAiCall,
    received: &Received,
    call: &mut Call,
) -> Reply {
    match try_answer(state, flavour, asked, received, call).await {
        Ok(reply) => reply,
        Err(problem) => Reply::Send(refused(flavour, &problem)),
    }
}

async fn try_answer(
    state: &State,
    flavour: OpenAiFlavour,
    asked: &OpenAiCall,
    received: &Received,
    call: &mut Call,
) -> Result<Reply, Problem> {
    check_credentials(state, flavour, received)?;
    match asked {
        OpenAiCall::Chat => chat::complete(state, flavour, received, call),
        OpenAiCall::Embeddings => embeddings::embed(state, flavour, received, call).await,
        OpenAiCall::ListModels => {
            let list: Vec<Value> = names().map(|name| describe(flavour, name)).collect();
            Ok(say(&json!({ "object": "list", "data": list })))
        }
        OpenAiCall::GetModel { model } => {
            let exists = is_able(model, Ability::Generate) || is_able(model, Ability::Embed);
            if exists { Ok(say(&describe(flavour, model))) } else { Err(Problem::no_model(model)) }
        }
        OpenAiCall::Unknown => Err(Problem::no_path()),
    }
}

fn check_credentials(
    state: &State,
    flavour: OpenAiFlavour,
    received: &Received,
) -> Result<(), Problem> {
    let needed = flavour == OpenAiFlavour::Gemini || state.settings.openai_needs_key;
    match Credentials::of(received, &state.settings.bad_keys) {
        Credentials::Missing if needed => Err(Problem::no_key()),
        Credentials::Bad => Err(Problem::bad_key()),
        Credentials::Good | Credentials::Missing => Ok(()),
    }
}

fn describe(flavour: OpenAiFlavour, name: &str) -> Value {
    let id = match flavour {
        OpenAiFlavour::Plain => name.to_owned(),
        OpenAiFlavour::Gemini => format!("models/{name}"),
    };
    json!({ "id": id, "object": "model", "created": 1_764_547_200, "owned_by": "simulator" })
}

fn read(body: &[u8]) -> Result<Value, Problem> {
    serde_json::from_slice(body)
        .map_err(|error| Problem::invalid(format!("We could not parse the JSON body: {error}")))
}

fn say(value: &Value) -> Reply {
    Reply::Send(Outline::whole(Duration::ZERO, 200, JSON, value.to_string()))
}
