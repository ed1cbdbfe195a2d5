//! The journal sees clients go, and counts what they leave behind.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use simulator::{CallKind, Fault, FaultKind, FaultPlan, Settings, Simulator, StageFaults};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{KEY, MODEL, USER, post, prompt, request, settled};

async fn stalling(kind: FaultKind) -> Simulator {
    let generate = StageFaults::rule(Fault::always(kind).after_chunks(2));
    let faults = FaultPlan { generate, ..FaultPlan::default() };
    Simulator::start(Settings { faults, ..Settings::quiet() }).await.expect("a free port")
}

fn stream_path() -> String {
    format!("{MODEL}:streamGenerateContent?alt=sse")
}

#[tokio::test]
async fn a_whole_call_is_noted_with_all_it_cost() {
    let simulator = Simulator::start(Settings::quiet()).await.unwrap();
    let headers = [KEY, ("x-request-id", "abc"), ("x-attempt", "2")];
    let mut body = prompt(USER);
    body["generationConfig"]["maxOutputTokens"] = 512.into();
    let reply = post(simulator.address(), &stream_path(), &headers, &body).await;
    let usage = reply.events().pop().unwrap()["usageMetadata"].take();
    let [entry] = settled(&simulator).await.try_into().unwrap();
    assert_eq!((entry.kind, entry.status, entry.fault), (CallKind::Generate, Some(200), None));
    assert_eq!((entry.key.as_str(), entry.attempt), ("abc", 2));
    assert_eq!(entry.model, "gemini-3.5-flash-lite");
    assert_eq!(entry.bytes, reply.body.len() as u64);
    assert_eq!(u64::from(entry.prompt_tokens), usage["promptTokenCount"].as_u64().unwrap());
    assert_eq!(u64::from(entry.output_tokens), usage["candidatesTokenCount"].as_u64().unwrap());
    assert_eq!(entry.output_cap, Some(512));
    assert!(entry.client_gone_ms.is_none());
    let ended = entry.ended_ms.unwrap();
    assert!(
        entry.started_ms <= entry.first_byte_ms.unwrap() && entry.first_byte_ms.unwrap() <= ended
    );
}

#[tokio::test]
async fn a_client_that_closes_is_seen_in_a_stalled_stream() {
    let simulator = stalling(FaultKind::StallMidstream).await;
    let body = prompt(USER).to_string();
    let mut client = TcpStream::connect(simulator.address()).await.unwrap();
    client.write_all(&request("POST", &stream_path(), &[KEY], body.as_bytes())).await.unwrap();
    let mut received = Vec::new();
    while received.windows(6).filter(|window| *window == b"data: ").count() < 2 {
        client.read_buf(&mut received).await.unwrap();
    }
    assert_eq!(simulator.summary().open, 1);
    drop(client);
    let [entry] = settled(&simulator).await.try_into().unwrap();
    assert!(entry.client_gone_ms.is_some() && entry.ended_ms.is_none());
    assert_eq!(entry.output_tokens, 20, "the first piece of 4 tokens and the second of 16");
    assert_eq!(simulator.summary().wasted_tokens, 20);
}

#[tokio::test]
async fn a_client_that_closes_is_seen_before_there_are_headers() {
    for kind in [FaultKind::HangBeforeHeaders, FaultKind::HangAfterHeaders] {
        let simulator = stalling(kind).await;
        let body = prompt(USER).to_string();
        let mut client = TcpStream::connect(simulator.address()).await.unwrap();
        client.write_all(&request("POST", &stream_path(), &[KEY], body.as_bytes())).await.unwrap();
        while simulator.journal().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(client);
        let [entry] = settled(&simulator).await.try_into().unwrap();
        assert!(entry.client_gone_ms.is_some(), "{kind}");
        assert_eq!((entry.output_tokens, entry.bytes), (0, 0), "{kind}");
    }
}

#[tokio::test]
async fn an_http2_stream_that_is_reset_is_seen_though_the_connection_stays() {
    let simulator = stalling(FaultKind::StallMidstream).await;
    let socket = TcpStream::connect(simulator.address()).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket))
            .await
            .unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let _ended = connection.await;
    });
    let url = format!("{}{}", simulator.base_url(), stream_path());
    let ask = || {
        let body = Full::new(Bytes::from(prompt(USER).to_string()));
        hyper::Request::post(&url).header(KEY.0, KEY.1).body(body).unwrap()
    };
    let mut reply = sender.send_request(ask()).await.unwrap();
    assert_eq!(reply.version(), hyper::Version::HTTP_2);
    let first = reply.frame().await.unwrap().unwrap();
    assert!(first.data_ref().unwrap().starts_with(b"data: "));
    drop(reply);
    let [entry] = settled(&simulator).await.try_into().unwrap();
    assert!(entry.client_gone_ms.is_some());
    simulator.set_faults(FaultPlan::default());
    let again = sender.send_request(ask()).await.unwrap();
    assert!(again.into_body().collect().await.unwrap().to_bytes().ends_with(b"\r\n\r\n"));
    let generate = StageFaults::rule(Fault::always(FaultKind::ResetMidstream));
    simulator.set_faults(FaultPlan { generate, ..FaultPlan::default() });
    let reset = sender.send_request(ask()).await.unwrap();
    assert!(reset.into_body().collect().await.is_err(), "only the stream is reset");
    assert!(sender.is_ready());
}

#[tokio::test]
async fn a_call_the_simulator_broke_off_was_not_left_by_its_client() {
    let simulator = stalling(FaultKind::ResetMidstream).await;
    post(simulator.address(), &stream_path(), &[KEY], &prompt(USER)).await;
    let [entry] = settled(&simulator).await.try_into().unwrap();
    assert_eq!((entry.fault, entry.client_gone_ms), (Some(FaultKind::ResetMidstream), None));
    assert!(entry.ended_ms.is_some());
}

#[tokio::test]
async fn marks_in_the_text_come_before_request_ids() {
    let simulator = Simulator::start(Settings::quiet()).await.unwrap();
    let path = format!("{MODEL}:generateContent");
    let marked = prompt("What is this? [#17]");
    post(simulator.address(), &path, &[KEY, ("x-request-id", "abc")], &marked).await;
    post(simulator.address(), &path, &[KEY], &prompt("hi")).await;
    let retry = [KEY, ("x-stainless-retry-count", "2")];
    post(simulator.address(), &path, &retry, &prompt("hi")).await;
    let entries = settled(&simulator).await;
    let keys: Vec<(&str, u32)> = entries.iter().map(|e| (e.key.as_str(), e.attempt)).collect();
    assert_eq!(keys, [("#17", 1), ("~0", 1), ("~1", 3)]);
}
