//! OpenAI's wire, as different servers speak it.

use domain::{FaultKind, FinishReason, Usage};
use upstream::Auth;

use crate::common::{AMPLE, Reply, key, openai, start, upstream};
use crate::peer::Peer;

async fn reply_to(body: &str) -> Reply {
    let peer = Peer::replying(&[body.as_bytes()]).await;
    let upstream = upstream(peer.address, "/v1", Auth::Bearer(key()));
    Reply::of(start(&openai(&upstream), AMPLE)).await
}

#[track_caller]
fn check(reply: &Reply, text: &str, finish: Option<FinishReason>, fault: Option<FaultKind>) {
    let seen = (reply.text.as_str(), reply.finish, reply.fault_kind());
    assert_eq!(seen, (text, finish, fault), "{:?}", reply.fault);
}

fn delta(json: &str, finish: &str) -> String {
    format!(
        "data: {{\"model\":\"small\",\"choices\":[{{\"index\":0,\"delta\":{json},\"finish_reason\":{finish}}}]}}\n\n"
    )
}

#[tokio::test]
async fn a_whole_reply_is_read_with_its_counts() {
    let counts = "data: {\"model\":\"small\",\"choices\":[],\"usage\":{\"prompt_tokens\":90,\"completion_tokens\":6,\
        \"total_tokens\":96,\"prompt_tokens_details\":{\"cached_tokens\":64}}}\n\n";
    let body = [
        ": OPENROUTER PROCESSING\n\n",
        &delta("{\"role\":\"assistant\",\"content\":\"\"}", "null"),
        &delta("{\"reasoning_content\":\"The passage says so.\"}", "null"),
        &delta("{\"content\":\"Tap Reset\"}", "null").replace("data: ", "data:"),
        &delta("{\"content\":\" badge [1].\"}", "null"),
        &delta("{}", "\"stop\""),
        counts,
        "data: [DONE]\n\n",
    ];
    let reply = reply_to(&body.concat()).await;
    check(&reply, "Tap Reset badge [1].", Some(FinishReason::Stop), None);
    let usage = Usage { input_tokens: 90, cached_tokens: 64, output_tokens: 6, thinking_tokens: 0 };
    assert_eq!((reply.usage, reply.served), (Some(usage), None));
}

#[tokio::test]
async fn the_request_goes_where_the_wire_wants_it() {
    let body = delta("{\"content\":\"Yes.\"}", "\"stop\"");
    let peer = Peer::replying(&[body.as_bytes()]).await;
    let upstream = upstream(peer.address, "/v1", Auth::Bearer(key()));
    Reply::of(start(&openai(&upstream), AMPLE)).await;
    let requests = peer.requests.lock().unwrap();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert_eq!(head.lines().next(), Some("POST /v1/chat/completions HTTP/1.1"));
    assert!(head.to_lowercase().contains("authorization: bearer test-key"));
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["model"], &body["max_tokens"]), (&"small".into(), &512.into()));
    assert_eq!(body["messages"][0]["role"], "system");
}

#[tokio::test]
async fn a_reply_is_whole_only_if_it_says_so() {
    let text = delta("{\"content\":\"Tap\"}", "null");
    check(&reply_to(&text).await, "Tap", None, None);
    check(&reply_to(&format!("{text}data: [DONE]\n\n")).await, "Tap", None, None);
    let length = delta("{}", "\"length\"");
    check(
        &reply_to(&[text.as_str(), &length].concat()).await,
        "Tap",
        Some(FinishReason::Length),
        None,
    );
    check(&reply_to(&length).await, "", None, Some(FaultKind::ThinkingExhausted));
    let filtered = delta("{}", "\"content_filter\"");
    check(
        &reply_to(&[text.as_str(), &filtered].concat()).await,
        "Tap",
        None,
        Some(FaultKind::Blocked),
    );
    let tool = delta("{}", "\"tool_calls\"");
    check(&reply_to(&tool).await, "", None, Some(FaultKind::Error));
}

#[tokio::test]
async fn an_error_within_a_stream_is_one_however_it_is_wrapped() {
    let text = delta("{\"content\":\"Tap\"}", "null");
    let error = "{\"error\":{\"message\":\"overloaded\",\"type\":\"server_error\",\"param\":null,\"code\":null}}";
    for tail in [
        format!("data: {error}\n\n"),
        format!("data: [{error}]\n\n"),
        format!("[{error}]\n"),
        "[\n  {\n    \"error\": {\n      \"code\": 503,\n      \"message\": \"m\",\n      \"status\": \"UNAVAILABLE\"\n    }\n  }\n]\n".to_owned(),
        "data: {\"error\":\"Model is overloaded\",\"error_type\":\"Overloaded\"}\n\n".to_owned(),
    ] {
        let reply = reply_to(&[text.as_str(), &tail].concat()).await;
        assert_eq!((reply.text.as_str(), reply.finish), ("Tap", None), "{tail}");
        assert!(reply.fault.is_some(), "{tail}");
    }
    let quota = "data: {\"error\":{\"message\":\"m\",\"type\":\"insufficient_quota\",\"code\":\"insufficient_quota\"}}\n\n";
    check(&reply_to(quota).await, "", None, Some(FaultKind::Quota));
}

#[tokio::test]
async fn the_sentinel_never_shows() {
    let body = [
        delta("{\"content\":\"`NO_ANS\"}", "null"),
        delta("{\"content\":\"WER_IN_PASSAGES`\"}", "null"),
        delta("{}", "\"stop\""),
        "data: [DONE]\n\n".to_owned(),
    ];
    check(&reply_to(&body.concat()).await, "", Some(FinishReason::Declined), None);
}
