//! Every fault as it looks on the wire.

use serde_json::{Value, json};
use simulator::{Fault, FaultKind, FaultPlan, Settings, Simulator, Stage, StageFaults};

use crate::support::{BEARER, End, KEY, MODEL, Reply, USER, chat, post, prompt};

async fn with(fault: Fault) -> Simulator {
    let rule = |stage| {
        if fault.kind.concerns(stage) {
            StageFaults::rule(fault.clone())
        } else {
            StageFaults::default()
        }
    };
    let faults = FaultPlan { generate: rule(Stage::Generate), embed: rule(Stage::Embed) };
    Simulator::start(Settings { faults, ..Settings::quiet() }).await.expect("a free port")
}

async fn stream(simulator: &Simulator) -> Reply {
    let path = format!("{MODEL}:streamGenerateContent?alt=sse");
    post(simulator.address(), &path, &[KEY], &prompt(USER)).await
}

async fn whole(simulator: &Simulator) -> Reply {
    let path = format!("{MODEL}:generateContent");
    post(simulator.address(), &path, &[KEY], &prompt(USER)).await
}

async fn openai(simulator: &Simulator, streamed: bool) -> Reply {
    let mut body = chat(USER);
    body["stream"] = json!(streamed);
    post(simulator.address(), "/v1/chat/completions", &[BEARER], &body).await
}

async fn embed(simulator: &Simulator) -> Reply {
    let body = json!({ "content": { "parts": [{ "text": "a" }] }, "outputDimensionality": 128 });
    let path = "/v1beta/models/gemini-embedding-2:embedContent";
    post(simulator.address(), path, &[KEY], &body).await
}

fn finish_of(event: &Value) -> Option<&str> {
    event["candidates"][0]["finishReason"].as_str()
}

#[tokio::test]
async fn refused_connections_bring_nothing() {
    let simulator = with(Fault::always(FaultKind::Refused)).await;
    // Even the request may not get through before the reset.
    let connected = tokio::net::TcpStream::connect(simulator.address()).await;
    if let Ok(mut stream) = connected {
        let mut byte = [0];
        let read = tokio::io::AsyncReadExt::read(&mut stream, &mut byte).await;
        assert!(matches!(read, Ok(0) | Err(_)));
    }
    let generate = StageFaults::rule(Fault::always(FaultKind::Refused));
    simulator.set_faults(FaultPlan { generate, ..FaultPlan::default() });
    let reply = stream(&simulator).await;
    assert_eq!(reply.status, 0);
    assert!(matches!(reply.end, End::Reset | End::Closed), "{reply:?}");
    assert_eq!(embed(&simulator).await.status, 200);
}

#[tokio::test]
async fn a_port_nobody_listens_on_refuses_and_comes_back() {
    let simulator = Simulator::start(Settings::quiet()).await.unwrap();
    simulator.stop_listening().await;
    assert!(tokio::net::TcpStream::connect(simulator.address()).await.is_err());
    simulator.listen_again().await.unwrap();
    assert_eq!(whole(&simulator).await.status, 200);
}

#[tokio::test]
async fn hangs_are_silent_before_or_after_the_head() {
    let before = with(Fault::always(FaultKind::HangBeforeHeaders)).await;
    let reply = stream(&before).await;
    assert_eq!((reply.status, reply.end), (0, End::Silent));
    let after = with(Fault::always(FaultKind::HangAfterHeaders)).await;
    for reply in [stream(&after).await, whole(&after).await, embed(&after).await] {
        assert_eq!((reply.status, reply.end, reply.body.len()), (200, End::Silent, 0));
    }
}

#[tokio::test]
async fn middles_end_in_many_ways() {
    use FaultKind::{EofWithoutFinish, MidstreamClose, ResetMidstream, StallMidstream};
    for (kind, end) in [
        (StallMidstream, End::Silent),
        (ResetMidstream, End::Reset),
        (MidstreamClose, End::Closed),
        (EofWithoutFinish, End::Whole),
    ] {
        let simulator = with(Fault::always(kind).after_chunks(2)).await;
        let reply = stream(&simulator).await;
        assert_eq!((reply.status, reply.end, reply.events().len()), (200, end, 2), "{kind}");
        assert!(reply.events().iter().all(|event| finish_of(event).is_none()), "{kind}");
        let reply = openai(&simulator, true).await;
        assert_eq!((reply.status, reply.end), (200, end), "{kind}");
        assert!(!reply.text().contains("finish_reason\":\"") && !reply.text().contains("DONE"));
        for reply in [whole(&simulator).await, embed(&simulator).await] {
            assert_eq!((reply.status, reply.end), (200, end), "{kind}");
            let parsed: Result<Value, _> = serde_json::from_slice(&reply.body);
            assert!(!reply.body.is_empty() && parsed.is_err(), "{kind}: half of it came");
        }
    }
}

#[tokio::test]
async fn errors_in_the_middle_come_raw_or_as_events() {
    let raw = with(Fault::always(FaultKind::MidstreamErrorRaw)).await;
    let reply = stream(&raw).await;
    let (event, tail) = reply.text().split_once("\r\n\r\n").unwrap();
    assert!(event.starts_with("data: {\"candidates\""));
    assert!(tail.starts_with("{\n  \"error\": {\n"), "{tail}");
    let tail: Value = serde_json::from_str(tail).unwrap();
    assert_eq!(tail["error"]["status"], "UNAVAILABLE");
    assert_eq!(whole(&raw).await.status, 503);
    let as_event = with(Fault::always(FaultKind::MidstreamErrorEvent)).await;
    let events = stream(&as_event).await.events();
    assert_eq!((events.len(), &events[1]["error"]["code"]), (2, &json!(503)));
    assert!(openai(&as_event, true).await.text().contains("data: {\"error\""));
    let mut body = chat(USER);
    body["stream"] = json!(true);
    let path = "/v1beta/openai/chat/completions";
    let reply = post(raw.address(), path, &[BEARER], &body).await;
    let tail = reply.text().rsplit_once("\n\n[").expect("a bare array").1;
    assert!(tail.contains("\"status\": \"UNAVAILABLE\""));
}

#[tokio::test]
async fn statuses_and_their_objects() {
    for (kind, status, name) in [
        (FaultKind::Unavailable, 503, "UNAVAILABLE"),
        (FaultKind::DeadlineExceeded, 504, "DEADLINE_EXCEEDED"),
        (FaultKind::Internal, 500, "INTERNAL"),
        (FaultKind::RateLimitedMinute, 429, "RESOURCE_EXHAUSTED"),
        (FaultKind::RateLimitedDay, 429, "RESOURCE_EXHAUSTED"),
    ] {
        let simulator = with(Fault::always(kind)).await;
        for reply in [stream(&simulator).await, whole(&simulator).await, embed(&simulator).await] {
            assert_eq!((reply.status, reply.end), (status, End::Whole), "{kind}");
            assert_eq!(reply.json()["error"]["status"], name);
            assert_eq!(reply.json()["error"]["code"], status);
            assert!(!reply.headers.contains_key("retry-after"));
        }
        let reply = openai(&simulator, true).await;
        assert_eq!(reply.status, status, "{kind}");
        assert!(reply.json()["error"]["message"].is_string());
    }
}

#[tokio::test]
async fn a_rate_limit_says_of_what_and_for_how_long() {
    let mut minute = Fault::always(FaultKind::RateLimitedMinute);
    minute.retry_delay_ms = Some(2500);
    let simulator = with(minute).await;
    let error = whole(&simulator).await.json()["error"].take();
    let detail = |kind: &str| {
        let details = error["details"].as_array().unwrap();
        let of_kind = |detail: &&Value| detail["@type"].as_str().unwrap().ends_with(kind);
        details.iter().find(of_kind).unwrap().clone()
    };
    assert_eq!(detail("RetryInfo")["retryDelay"], "2.5s");
    let quota = detail("QuotaFailure")["violations"][0]["quotaId"].clone();
    assert!(quota.as_str().unwrap().contains("PerMinute"), "{quota}");
    assert!(error["message"].as_str().unwrap().contains("Please retry in 2.5s"));
    let plain = openai(&simulator, false).await;
    assert_eq!(
        (&plain.headers["retry-after"], &plain.headers["retry-after-ms"]),
        (&"3".into(), &"2500".into())
    );
    let day = with(Fault::always(FaultKind::RateLimitedDay)).await;
    assert!(whole(&day).await.text().contains("PerDay"));
    assert_eq!(openai(&day, false).await.json()["error"]["code"], "insufficient_quota");
}

#[tokio::test]
async fn a_front_end_speaks_html_and_torn_json_is_no_json() {
    let html = with(Fault::always(FaultKind::Html502)).await;
    let reply = stream(&html).await;
    assert_eq!(
        (reply.status, reply.headers["content-type"].as_str()),
        (502, "text/html; charset=UTF-8")
    );
    assert!(reply.text().starts_with("<!DOCTYPE html>"));
    let torn = with(Fault::always(FaultKind::MalformedJson)).await;
    for reply in
        [stream(&torn).await, whole(&torn).await, embed(&torn).await, openai(&torn, true).await]
    {
        assert_eq!((reply.status, reply.end), (200, End::Whole));
        let data = reply.text().trim().trim_start_matches("data: ");
        assert!(!data.is_empty() && serde_json::from_str::<Value>(data).is_err());
    }
}

#[tokio::test]
async fn empty_answers_have_their_shapes() {
    let exhausted = with(Fault::always(FaultKind::ThinkingExhausted)).await;
    for reply in [whole(&exhausted).await.json(), stream(&exhausted).await.events().remove(0)] {
        assert_eq!(finish_of(&reply), Some("MAX_TOKENS"));
        assert_eq!(reply["candidates"][0]["content"], json!({ "role": "model" }));
        assert!(reply["usageMetadata"]["thoughtsTokenCount"].as_u64().unwrap() > 0);
        assert!(reply["usageMetadata"].get("candidatesTokenCount").is_none());
    }
    let mut aloud = prompt(USER);
    aloud["generationConfig"] = json!({ "thinkingConfig": { "includeThoughts": true } });
    let path = format!("{MODEL}:generateContent");
    let reply = post(exhausted.address(), &path, &[KEY], &aloud).await.json();
    assert_eq!(reply["candidates"][0]["content"]["parts"][0]["thought"], true);

    let blocked = with(Fault::always(FaultKind::BlockedPrompt)).await;
    for reply in [whole(&blocked).await.json(), stream(&blocked).await.events().remove(0)] {
        assert!(reply.get("candidates").is_none());
        assert_eq!(reply["promptFeedback"]["blockReason"], "PROHIBITED_CONTENT");
    }
    let midway = with(Fault::always(FaultKind::BlockedMidstream).after_chunks(2)).await;
    let events = stream(&midway).await.events();
    assert_eq!((events.len(), finish_of(&events[2])), (3, Some("SAFETY")));
    assert!(events[2]["candidates"][0].get("content").is_none());
    assert!(whole(&midway).await.json()["candidates"][0].get("content").is_none());
    let empty = with(Fault::always(FaultKind::EmptyParts)).await;
    assert_eq!(whole(&empty).await.json()["candidates"][0]["content"]["parts"][0]["text"], "");
    let filtered = openai(&blocked, false).await.json();
    assert_eq!(filtered["choices"][0]["finish_reason"], "content_filter");
}

#[tokio::test]
async fn answers_may_be_short_declined_invented_or_uncited() {
    let text = |reply: &Value| {
        reply["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap().to_owned()
    };
    let short = whole(&with(Fault::always(FaultKind::Length)).await).await.json();
    assert_eq!(finish_of(&short), Some("MAX_TOKENS"));
    let declined = whole(&with(Fault::always(FaultKind::Sentinel)).await).await.json();
    assert_eq!(text(&declined), "NO_ANSWER_IN_PASSAGES");
    let invented = whole(&with(Fault::always(FaultKind::Unsupported)).await).await.json();
    assert!(text(&invented).contains("[92]") && !text(&invented).contains("badge"));
    let uncited = whole(&with(Fault::always(FaultKind::Uncited)).await).await.json();
    assert!(text(&uncited).contains("badge") && !text(&uncited).contains('['));
}

#[tokio::test]
async fn a_script_is_played_once_and_models_can_be_singled_out() {
    let simulator = Simulator::start(Settings::quiet()).await.unwrap();
    let steps = [None, Some(Fault::always(FaultKind::Unavailable)), None];
    let generate = StageFaults::script(steps);
    simulator.set_faults(FaultPlan { generate, ..FaultPlan::default() });
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(whole(&simulator).await.status);
    }
    assert_eq!(statuses, [200, 503, 200, 200]);
    let mut fault = Fault::always(FaultKind::Internal);
    fault.model = Some("other".to_owned());
    simulator.set_faults(FaultPlan { generate: StageFaults::rule(fault), ..FaultPlan::default() });
    assert_eq!(whole(&simulator).await.status, 200);
    let path = "/v1/models/other-model:generateContent";
    assert_eq!(post(simulator.address(), path, &[KEY], &prompt("hi")).await.status, 500);
}
