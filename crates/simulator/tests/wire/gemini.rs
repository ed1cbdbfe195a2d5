//! Gemini's wire, byte by byte.

use serde_json::{Value, json};
use simulator::{Settings, Simulator};

use crate::support::{self, End, KEY, MODEL, USER, exchange, get, post, prompt, request};

async fn quiet() -> Simulator {
    Simulator::start(Settings::quiet()).await.expect("a free port")
}

fn path(operation: &str) -> String {
    format!("{MODEL}:{operation}")
}

#[tokio::test]
async fn a_whole_reply_cites_the_passage_that_answers() {
    let simulator = quiet().await;
    let reply = post(simulator.address(), &path("generateContent"), &[KEY], &prompt(USER)).await;
    assert_eq!((reply.status, reply.end), (200, End::Whole));
    assert_eq!(reply.headers["content-type"], "application/json; charset=UTF-8");
    assert!(reply.text().starts_with("{\n  \"candidates\": ["), "indented by two");
    let body = reply.json();
    let candidate = &body["candidates"][0];
    let text = candidate["content"]["parts"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("To reset a badge, open Settings and choose Reset [2]."), "{text}");
    assert_eq!(candidate["finishReason"], "STOP");
    assert_eq!(candidate["content"]["role"], "model");
    let usage = &body["usageMetadata"];
    let count = |name: &str| usage[name].as_u64().unwrap();
    assert_eq!(count("totalTokenCount"), count("promptTokenCount") + count("candidatesTokenCount"));
    assert!(usage.get("thoughtsTokenCount").is_none(), "zero counters are left out");
    assert_eq!(body["modelVersion"], "gemini-3.5-flash-lite");
}

#[tokio::test]
async fn a_stream_is_framed_as_the_real_one() {
    let simulator = quiet().await;
    let path = path("streamGenerateContent?alt=sse");
    let reply = post(simulator.address(), &path, &[KEY], &prompt(USER)).await;
    assert_eq!((reply.status, reply.end), (200, End::Whole));
    assert_eq!(reply.headers["content-type"], "text/event-stream");
    assert_eq!(reply.headers["transfer-encoding"], "chunked");
    let text = reply.text();
    assert!(text.ends_with("\r\n\r\n") && !text.contains("[DONE]"));
    for event in text.trim_end().split("\r\n\r\n") {
        assert!(event.starts_with("data: {") && !event.contains('\n'), "{event}");
    }
    let events = reply.events();
    assert!(events.len() >= 3, "{events:?}");
    let (last, others) = events.split_last().unwrap();
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    for event in others {
        assert!(event["candidates"][0].get("finishReason").is_none());
    }
    let counts: Vec<u64> = events
        .iter()
        .map(|event| event["usageMetadata"]["candidatesTokenCount"].as_u64().unwrap_or(0))
        .collect();
    assert!(counts.is_sorted() && counts[0] == 0 && counts[counts.len() - 1] > 20, "{counts:?}");
    assert!(events.iter().all(|event| event["responseId"] == events[0]["responseId"]));
    let whole = post(simulator.address(), &whole_path(), &[KEY], &prompt(USER)).await.json();
    assert_eq!(whole["candidates"][0]["content"]["parts"][0]["text"], joined(&events));
}

fn whole_path() -> String {
    path("generateContent")
}

fn joined(events: &[Value]) -> String {
    let parts = events.iter().map(|event| &event["candidates"][0]["content"]["parts"][0]);
    parts.filter_map(|part| part["text"].as_str()).collect()
}

#[tokio::test]
async fn a_stream_without_events_is_one_array() {
    let simulator = quiet().await;
    let reply =
        post(simulator.address(), &path("streamGenerateContent"), &[KEY], &prompt(USER)).await;
    assert_eq!(reply.headers["content-type"], "application/json; charset=UTF-8");
    let events = reply.json();
    assert!(events.as_array().unwrap().len() >= 3);
    assert!(reply.text().contains("},\r\n{"));
    let bad = json!({ "contents": [], "x": 1 });
    let error = post(simulator.address(), &path("streamGenerateContent"), &[KEY], &bad).await;
    assert_eq!((error.status, &error.json()[0]["error"]["code"]), (400, &json!(400)));
}

#[tokio::test]
async fn keys_come_in_two_ways_and_matter() {
    let simulator = quiet().await;
    let models = "/v1beta/models";
    let address = simulator.address();
    assert_eq!(get(address, models, &[KEY]).await.status, 200);
    assert_eq!(get(address, "/v1beta/models?key=k", &[]).await.status, 200);
    let none = get(address, models, &[]).await;
    assert_eq!((none.status, &none.json()["error"]["status"]), (403, &json!("PERMISSION_DENIED")));
    let bad = get(address, models, &[("x-goog-api-key", "bad-key")]).await;
    assert_eq!(bad.status, 400);
    assert_eq!(bad.json()["error"]["details"][0]["reason"], "API_KEY_INVALID");
}

#[tokio::test]
async fn short_deadlines_are_refused_unless_told_otherwise() {
    let strict = quiet().await;
    let short = [KEY, ("x-server-timeout", "8")];
    let path = path("generateContent");
    let refused = post(strict.address(), &path, &short, &prompt("hi")).await;
    assert_eq!(refused.status, 400);
    assert_eq!(
        refused.json()["error"]["message"],
        "Manually set deadline 8s is too short. Minimum allowed deadline is 10s."
    );
    let long = [KEY, ("x-server-timeout", "10")];
    assert_eq!(post(strict.address(), &path, &long, &prompt("hi")).await.status, 200);
    let lax = Settings { deadline_floor: false, ..Settings::quiet() };
    let lax = Simulator::start(lax).await.unwrap();
    assert_eq!(post(lax.address(), &path, &short, &prompt("hi")).await.status, 200);
}

#[tokio::test]
async fn caps_cut_and_thinking_eats_them() {
    let simulator = quiet().await;
    let ask = |model: &str, config: Value| {
        let mut body = prompt(USER);
        body["generationConfig"] = config;
        let path = format!("/v1/models/{model}:generateContent");
        let address = simulator.address();
        async move { post(address, &path, &[KEY], &body).await.json() }
    };
    let cut = ask("gemini-3.5-flash-lite", json!({ "maxOutputTokens": 6 })).await;
    assert_eq!(cut["candidates"][0]["finishReason"], "MAX_TOKENS");
    assert_eq!(cut["usageMetadata"]["candidatesTokenCount"], 6);
    let thought = ask("gemini-3.8-flash", json!({ "max_output_tokens": 64 })).await;
    assert_eq!(thought["candidates"][0]["finishReason"], "MAX_TOKENS");
    assert!(thought["candidates"][0]["content"].get("parts").is_none());
    assert_eq!(thought["usageMetadata"]["thoughtsTokenCount"], 64);
    let level = json!({ "thinkingConfig": { "thinkingLevel": "MINIMAL" } });
    let refused = ask("gemini-3.8-flash", level).await;
    assert_eq!(refused["error"]["code"], 400);
    let json_mode = json!({
        "responseMimeType": "application/json",
        "responseSchema": { "type": "OBJECT", "properties": { "reply": { "type": "STRING" } } },
    });
    let typed = ask("m", json_mode).await;
    let text = typed["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap();
    let typed: Value = serde_json::from_str(text).unwrap();
    assert!(typed["reply"].as_str().unwrap().contains("[2]"));
}

#[tokio::test]
async fn vectors_come_one_per_request_and_at_most_a_hundred() {
    let simulator = quiet().await;
    let address = simulator.address();
    let ask = |model: &str, count: usize, dimensions: u32| {
        let one = json!({
            "model": format!("models/{model}"),
            "content": { "parts": [{ "text": "a" }, { "text": "b" }] },
            "outputDimensionality": dimensions,
        });
        let path = format!("/v1beta/models/{model}:batchEmbedContents");
        let body = json!({ "requests": vec![one; count] });
        async move { post(address, &path, &[KEY], &body).await }
    };
    let norm = |reply: &Value, index: usize| {
        let values = reply["embeddings"][index]["values"].as_array().unwrap().clone();
        values.iter().map(|x| x.as_f64().unwrap().powi(2)).sum::<f64>().sqrt()
    };
    let first = ask("gemini-embedding-001", 2, 256).await.json();
    assert_eq!(first["embeddings"].as_array().unwrap().len(), 2);
    assert!((0.36..0.39).contains(&norm(&first, 1)), "{}", norm(&first, 1));
    assert!(first.get("usageMetadata").is_none());
    let second = ask("gemini-embedding-2", 1, 768).await.json();
    assert!((norm(&second, 0) - 1.0).abs() < 1e-3);
    assert!(second["usageMetadata"]["promptTokenCount"].as_u64().is_some());
    let many = ask("gemini-embedding-2", 101, 128).await;
    assert_eq!(many.status, 400);
    assert_eq!(
        many.json()["error"]["message"],
        "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch"
    );
    assert_eq!(ask("gemini-embedding-2", 1, 100).await.status, 400);
    assert_eq!(ask("gemini-3.8-flash", 1, 768).await.status, 404);
    let one = json!({ "content": { "parts": [{ "text": "a" }] } });
    let reply = post(address, "/v1/models/gemini-embedding-2:embedContent", &[KEY], &one).await;
    assert_eq!(reply.json()["embedding"]["values"].as_array().unwrap().len(), 3072);
}

#[tokio::test]
async fn counting_listing_and_what_is_not_there() {
    let simulator = quiet().await;
    let address = simulator.address();
    let count = post(address, &path("countTokens"), &[KEY], &prompt("abcdefgh")).await.json();
    let system = u64::from(simulator::count_tokens(support::SYSTEM));
    assert_eq!(count["totalTokens"].as_u64(), Some(2 + system));
    let list = get(address, "/v1/models", &[KEY]).await.json();
    assert!(list["models"][0]["supportedGenerationMethods"].is_array());
    let one = get(address, MODEL, &[KEY]).await.json();
    assert_eq!(one["name"], "models/gemini-3.5-flash-lite");
    let missing = "/v1beta/models/no-such-model:generateContent";
    let missing = post(address, missing, &[KEY], &prompt("hi")).await;
    assert_eq!(missing.status, 404);
    let message = missing.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("models/no-such-model is not found for API version v1beta"));
    let caches = post(address, "/v1beta/cachedContents", &[KEY], &json!({})).await;
    assert_eq!((caches.status, &caches.json()["error"]["status"]), (404, &json!("NOT_FOUND")));
    let mut cached = prompt("hi");
    cached["cachedContent"] = json!("cachedContents/x");
    let cached = post(address, &path("generateContent"), &[KEY], &cached).await;
    assert_eq!(cached.status, 403);
    assert_eq!(get(address, "/", &[KEY]).await.status, 404);
    let torn = exchange(address, &request("POST", &path("generateContent"), &[KEY], b"{")).await;
    assert_eq!(torn.status, 400);
}

#[tokio::test]
async fn a_question_about_something_else_gets_the_word_for_it() {
    let simulator = quiet().await;
    let user = USER.replace("reset my badge", "bake sourdough");
    let reply = post(simulator.address(), &path("generateContent"), &[KEY], &prompt(&user)).await;
    assert_eq!(
        reply.json()["candidates"][0]["content"]["parts"][0]["text"],
        "NO_ANSWER_IN_PASSAGES"
    );
}
