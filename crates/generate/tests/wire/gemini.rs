//! Gemini's wire, its three ways to break off within a stream above all.

use domain::{FaultKind, FinishReason, Usage};
use upstream::Auth;

use crate::common::{AMPLE, Reply, gemini, key, start, upstream};
use crate::peer::Peer;

const FIRST: &str = "data: {\"candidates\": [{\"content\": {\"role\": \"model\",\"parts\": [{\"text\": \"Open Settings \"}]},\
    \"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 120,\"totalTokenCount\": 120},\
    \"modelVersion\": \"gemini-3.5-flash-lite\",\"responseId\": \"x1\"}\r\n\r\n";
const LAST: &str = "data: {\"candidates\": [{\"content\": {\"role\": \"model\",\"parts\": [{\"text\": \"und „Zurücksetzen“ [1].\"}]},\
    \"finishReason\": \"STOP\",\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 120,\"candidatesTokenCount\": 14,\
    \"totalTokenCount\": 134},\"modelVersion\": \"gemini-3.5-flash-lite\",\"responseId\": \"x1\"}\r\n\r\n";
const HIGH_DEMAND: &str = "{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"This model is in high demand.\",\n    \
    \"status\": \"UNAVAILABLE\"\n  }\n}\n";

async fn reply_to(body: &str) -> Reply {
    let bytes = body.as_bytes();
    reply_in_pieces(&[bytes]).await
}

async fn reply_in_pieces(pieces: &[&[u8]]) -> Reply {
    let peer = Peer::replying(pieces).await;
    let upstream = upstream(peer.address, "", Auth::GoogKey(key()));
    let reply = Reply::of(start(&gemini(&upstream), AMPLE)).await;
    let counts = upstream.counts();
    assert_eq!(counts.calls, 1);
    assert_eq!(counts.abandoned, 0, "every reply that was read has a verdict");
    reply
}

#[track_caller]
fn check(reply: &Reply, text: &str, finish: Option<FinishReason>, fault: Option<FaultKind>) {
    let seen = (reply.text.as_str(), reply.finish, reply.fault_kind());
    assert_eq!(seen, (text, finish, fault), "{:?}", reply.fault);
}

#[tokio::test]
async fn a_whole_reply_is_read_however_it_is_split() {
    let body = [FIRST, LAST].concat();
    for size in [1, 7, 64, body.len()] {
        let pieces: Vec<_> = body.as_bytes().chunks(size).collect();
        let reply = reply_in_pieces(&pieces).await;
        check(&reply, "Open Settings und „Zurücksetzen“ [1].", Some(FinishReason::Stop), None);
        let usage = Usage { input_tokens: 120, output_tokens: 14, ..Usage::default() };
        assert_eq!((reply.usage, reply.served), (Some(usage), None));
    }
}

#[tokio::test]
async fn the_request_goes_where_the_wire_wants_it() {
    let peer = Peer::replying(&[LAST.as_bytes()]).await;
    let upstream = upstream(peer.address, "", Auth::GoogKey(key()));
    Reply::of(start(&gemini(&upstream), AMPLE)).await;
    let requests = peer.requests.lock().unwrap();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    let line = "POST /v1beta/models/gemini-3.5-flash-lite:streamGenerateContent?alt=sse HTTP/1.1";
    assert_eq!(head.lines().next(), Some(line));
    let head = head.to_lowercase();
    for header in [
        "x-goog-api-key: test-key",
        "x-request-id: r-1",
        "x-attempt: 1",
        "content-type: application/json",
    ] {
        assert!(head.contains(header), "{header}\n{head}");
    }
    assert!(!head.contains("x-server-timeout"));
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let user = body["contents"][0]["parts"][0]["text"].as_str().unwrap();
    assert!(
        user.contains("<passage n=\"1\" title=\"Badges\">") && user.contains("at most 120 words")
    );
    assert_eq!(body["generationConfig"]["maxOutputTokens"], 512);
}

#[tokio::test]
async fn an_error_within_a_stream_is_one_in_all_three_shapes() {
    let raw = reply_to(&[FIRST, HIGH_DEMAND].concat()).await;
    check(&raw, "Open Settings ", None, Some(FaultKind::Error));
    assert!(raw.fault.unwrap().retry_after().is_some());
    let event = format!("data: {}\r\n\r\n", HIGH_DEMAND.replace('\n', ""));
    check(
        &reply_to(&[FIRST, &event].concat()).await,
        "Open Settings ",
        None,
        Some(FaultKind::Error),
    );
    let wrapped = format!("[{HIGH_DEMAND}]\n");
    check(
        &reply_to(&[FIRST, &wrapped].concat()).await,
        "Open Settings ",
        None,
        Some(FaultKind::Error),
    );
    check(&reply_to(FIRST).await, "Open Settings ", None, None);
    check(&reply_to("").await, "", None, None);
}

#[tokio::test]
async fn a_rate_limit_within_a_stream_says_when_to_come_back() {
    let error = "{\"error\": {\"code\": 429, \"status\": \"RESOURCE_EXHAUSTED\", \"message\": \"m\", \"details\": [\
        {\"@type\": \"type.googleapis.com/google.rpc.RetryInfo\", \"retryDelay\": \"3s\"}]}}\n";
    let reply = reply_to(error).await;
    check(&reply, "", None, Some(FaultKind::RateLimited));
    assert_eq!(reply.fault.unwrap().retry_after(), Some(std::time::Duration::from_secs(3)));
}

#[tokio::test]
async fn empty_replies_are_told_apart() {
    let thought = "data: {\"candidates\":[{\"content\":{\"role\":\"model\"},\"finishReason\":\"MAX_TOKENS\",\"index\":0}],\
        \"usageMetadata\":{\"promptTokenCount\":42,\"thoughtsTokenCount\":299,\"totalTokenCount\":341}}\r\n\r\n";
    let reply = reply_to(thought).await;
    check(&reply, "", None, Some(FaultKind::ThinkingExhausted));
    let usage =
        Usage { input_tokens: 42, output_tokens: 299, thinking_tokens: 299, ..Usage::default() };
    assert_eq!(reply.usage, Some(usage));
    let only_thoughts = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\",\"thought\":true}]},\
        \"finishReason\":\"MAX_TOKENS\"}]}\r\n\r\n";
    check(&reply_to(only_thoughts).await, "", None, Some(FaultKind::ThinkingExhausted));
    let blocked = "data: {\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"},\
        \"usageMetadata\":{\"promptTokenCount\":9,\"totalTokenCount\":9}}\r\n\r\n";
    check(&reply_to(blocked).await, "", None, Some(FaultKind::Blocked));
    let safety = "data: {\"candidates\":[{\"finishReason\":\"SAFETY\",\"index\":0}]}\r\n\r\n";
    check(&reply_to(safety).await, "", None, Some(FaultKind::Blocked));
    let nothing = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]},\"finishReason\":\"STOP\"}]}\r\n\r\n";
    check(&reply_to(nothing).await, "", None, Some(FaultKind::Error));
}

#[tokio::test]
async fn cut_and_declined_replies_are_no_faults() {
    let cut = LAST.replace("STOP", "MAX_TOKENS");
    check(&reply_to(&cut).await, "und „Zurücksetzen“ [1].", Some(FinishReason::Length), None);
    let declined = LAST.replace("und „Zurücksetzen“ [1].", "NO_ANSWER_IN_PASSAGES");
    check(&reply_to(&declined).await, "", Some(FinishReason::Declined), None);
}

#[tokio::test]
async fn two_good_ends_are_one_and_nonsense_is_a_fault() {
    let twice = [LAST, FIRST, LAST].concat();
    let text = "und „Zurücksetzen“ [1].Open Settings und „Zurücksetzen“ [1].";
    check(&reply_to(&twice).await, text, Some(FinishReason::Stop), None);
    let broken = [FIRST, "data: {\"candidates\": [{\r\n\r\n", LAST].concat();
    check(&reply_to(&broken).await, "Open Settings ", None, Some(FaultKind::Error));
    let other_type = [FIRST, "data: {\"candidates\": 7}\r\n\r\n"].concat();
    check(&reply_to(&other_type).await, "Open Settings ", None, Some(FaultKind::Error));
}

#[tokio::test]
async fn another_model_that_answers_is_named() {
    let routed = LAST.replace("\"gemini-3.5-flash-lite\"", "\"gemini-3.6-flash\"");
    assert_eq!(reply_to(&routed).await.served.as_deref(), Some("gemini-3.6-flash"));
}

#[tokio::test]
async fn no_fault_repeats_what_was_asked_or_said() {
    let broken = [FIRST, "data: {\"candidates\": \"Open Settings\"}\r\n\r\n"].concat();
    let fault = reply_to(&broken).await.fault.unwrap();
    let mut messages = vec![fault.to_string()];
    let mut source = std::error::Error::source(&fault);
    while let Some(error) = source {
        messages.push(error.to_string());
        source = error.source();
    }
    assert!(!messages.concat().contains("Settings"), "{messages:?}");
}
