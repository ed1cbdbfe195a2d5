//! OpenAI's wire, and Gemini's imitation of it.

use serde_json::{Value, json};
use simulator::{Settings, Simulator};

use crate::support::{BEARER, End, USER, chat, get, post, settled};

const CHAT: &str = "/v1/chat/completions";
const GEMINI_CHAT: &str = "/v1beta/openai/chat/completions";

async fn quiet() -> Simulator {
    Simulator::start(Settings::quiet()).await.expect("a free port")
}

#[tokio::test]
async fn a_whole_completion() {
    let simulator = quiet().await;
    for path in [CHAT, GEMINI_CHAT] {
        let reply = post(simulator.address(), path, &[BEARER], &chat(USER)).await;
        assert_eq!(
            (reply.status, reply.headers["content-type"].as_str()),
            (200, "application/json")
        );
        let body = reply.json();
        let choice = &body["choices"][0];
        assert!(choice["message"]["content"].as_str().unwrap().starts_with("To reset a badge"));
        assert_eq!(choice["finish_reason"], "stop");
        let count = |name: &str| body["usage"][name].as_u64().unwrap();
        assert_eq!(count("total_tokens"), count("prompt_tokens") + count("completion_tokens"));
    }
}

#[tokio::test]
async fn a_stream_begins_with_a_role_and_ends_with_done() {
    let simulator = quiet().await;
    let mut body = chat(USER);
    body["stream"] = json!(true);
    let plain = post(simulator.address(), CHAT, &[BEARER], &body).await;
    assert_eq!(
        (plain.end, plain.headers["content-type"].as_str()),
        (End::Whole, "text/event-stream")
    );
    assert!(plain.text().ends_with("\n\ndata: [DONE]\n\n") && !plain.text().contains('\r'));
    let events = plain.events();
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(events[events.len() - 1]["choices"][0]["finish_reason"], "stop");
    assert!(events.iter().all(|event| event.get("usage").is_none()));
    body["stream_options"] = json!({ "include_usage": true });
    let events = post(simulator.address(), CHAT, &[BEARER], &body).await.events();
    let last = &events[events.len() - 1];
    assert_eq!(last["choices"], json!([]));
    assert!(last["usage"]["completion_tokens"].as_u64().unwrap() > 20);
    let text: String = events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert!(text.starts_with("To reset a badge") && text.ends_with('.'), "{text}");
}

#[tokio::test]
async fn both_names_of_the_cap_are_known_and_so_are_stops() {
    let simulator = quiet().await;
    for name in ["max_tokens", "max_completion_tokens"] {
        let mut body = chat(USER);
        body[name] = json!(5);
        let reply = post(simulator.address(), CHAT, &[BEARER], &body).await.json();
        assert_eq!(reply["choices"][0]["finish_reason"], "length");
        assert_eq!(reply["usage"]["completion_tokens"], 5);
    }
    let journal = settled(&simulator).await;
    assert!(journal.iter().all(|entry| entry.output_cap == Some(5)), "{journal:?}");
    let mut body = chat(USER);
    body["stop"] = json!("open");
    let reply = post(simulator.address(), CHAT, &[BEARER], &body).await.json();
    assert_eq!(reply["choices"][0]["message"]["content"], "To reset a badge, ");
}

#[tokio::test]
async fn vectors_as_numbers_and_as_base64_are_the_same() {
    let simulator = quiet().await;
    let ask = |encoding: &str| {
        let body = json!({ "model": "m", "input": ["a", "b"], "dimensions": 256, "encoding_format": encoding });
        let address = simulator.address();
        async move { post(address, "/v1/embeddings", &[BEARER], &body).await.json() }
    };
    let (numbers, packed) = (ask("float").await, ask("base64").await);
    assert_eq!(numbers["data"][1]["index"], 1);
    let packed = packed["data"][1]["embedding"].as_str().unwrap();
    let floats: Vec<f64> = unpack(packed).map(f64::from).collect();
    let numbers: Vec<f64> = numbers["data"][1]["embedding"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    assert_eq!(floats.len(), 256);
    assert!(floats.iter().zip(&numbers).all(|(a, b)| (a - b).abs() < 1e-6));
    let bad = json!({ "model": "m", "input": [] });
    assert_eq!(post(simulator.address(), "/v1/embeddings", &[BEARER], &bad).await.status, 400);
}

fn unpack(text: &str) -> impl Iterator<Item = f32> {
    use base64::Engine;
    let bytes = base64::prelude::BASE64_STANDARD.decode(text).expect("base64");
    let floats: Vec<f32> = bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
        .collect();
    floats.into_iter()
}

#[tokio::test]
async fn errors_are_worded_as_each_surface_words_them() {
    let simulator = quiet().await;
    let address = simulator.address();
    let plain = post(address, CHAT, &[], &chat("hi")).await;
    assert_eq!(
        (plain.status, plain.json()["error"]["type"].as_str()),
        (401, Some("invalid_request_error"))
    );
    let gemini = post(address, GEMINI_CHAT, &[], &chat("hi")).await;
    assert_eq!((gemini.status, gemini.json()[0]["error"]["code"].as_u64()), (403, Some(403)));
    let bad = [("authorization", "Bearer bad")];
    assert_eq!(post(address, GEMINI_CHAT, &bad, &chat("hi")).await.status, 400);
    assert_eq!(
        post(address, CHAT, &bad, &chat("hi")).await.json()["error"]["code"],
        "invalid_api_key"
    );
    let mut minimal = chat("hi");
    minimal["model"] = json!("gemini-3.8-flash");
    minimal["reasoning_effort"] = json!("minimal");
    assert_eq!(post(address, GEMINI_CHAT, &[BEARER], &minimal).await.status, 400);
    let keyless = Settings { openai_needs_key: false, ..Settings::quiet() };
    let keyless = Simulator::start(keyless).await.unwrap();
    assert_eq!(post(keyless.address(), CHAT, &[], &chat("hi")).await.status, 200);
}

#[tokio::test]
async fn the_list_of_models_is_whose_key_it_is() {
    let simulator = quiet().await;
    let address = simulator.address();
    assert_eq!(get(address, "/v1/models", &[BEARER]).await.json()["object"], "list");
    assert!(get(address, "/v1/models?key=k", &[BEARER]).await.json()["models"].is_array());
    assert_eq!(get(address, "/v1beta/openai/models", &[BEARER]).await.json()["object"], "list");
}
