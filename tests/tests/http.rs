//! The HTTP surface: what is good, and every way of being bad.

use std::path::Path;

use serde_json::{Value, json};
use system_tests::{Reply, Server, get, kiwari, post, send_raw};
use tempfile::TempDir;

const PAGE: &str = "---\ntitle: Reset your password\nlang: en\ntags: [account]\n---\n\n\
    Open Settings and choose Reset password. A link arrives by mail within five minutes.\n";
const SEITE: &str = "---\ntitle: パスワードの再設定\nlang: ja\n---\n\n\
    「設定」を開き、「パスワードを再設定」を選びます。\n";

fn index(folder: &Path, app: &str) {
    let help = folder.join("help");
    std::fs::create_dir_all(&help).expect("a writable folder");
    std::fs::write(help.join("reset.md"), PAGE).expect("a writable folder");
    std::fs::write(help.join("reset-ja.md"), SEITE).expect("a writable folder");
    let indexed = kiwari(folder, &["index", "help", "--data-dir", "data", "--app", app]);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
}

/// A server with one app named `default`.
fn served() -> (TempDir, Server) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    index(folder.path(), "default");
    let server = Server::start(folder.path(), &[]);
    (folder, server)
}

fn ask(server: &Server, body: &Value) -> Reply {
    post(&format!("{}/v1/answer", server.address), body, &[])
}

#[test]
fn an_answer_is_cited_timed_and_named() {
    let (_folder, server) = served();
    let url = format!("{}/v1/answer", server.address);
    let question = json!({"question": "How do I reset my password?", "budget_ms": 2000});
    let reply = post(&url, &question, &[("x-request-id", "abc-123")]);
    assert_eq!(reply.status, 200, "{}", reply.text);
    let body = reply.json();
    assert_eq!(body["answer"]["kind"], "templated");
    assert_eq!(body["answer"]["lang"], "en");
    assert_eq!(body["citations"][0]["article_id"], "reset");
    assert_eq!(body["citations"][0]["n"], 1);
    assert!(body["answer"]["text"].as_str().expect("text").contains("[1]"));
    assert_eq!(body["degraded"], false);
    assert_eq!(body["reasons"][0]["reason"], "no_generator");
    assert_eq!(body["budget"]["requested_ms"], 2000);
    assert_eq!(body["budget"]["total_ms"], 2000);
    assert_eq!(body["generation"], 1);
    let stages: Vec<&str> = body["stages"]
        .as_array()
        .expect("stages")
        .iter()
        .map(|stage| stage["stage"].as_str().expect("a name"))
        .collect();
    assert_eq!(stages, ["normalize", "keyword", "embed", "vector", "generate", "template"]);
    assert_eq!(reply.headers["x-request-id"], "abc-123");
    assert_ne!(body["id"], "abc-123");
    assert!(reply.headers["server-timing"].contains("keyword;dur="));
    let left: u64 = reply.headers["x-deadline-remaining-ms"].parse().expect("milliseconds");
    assert!(left <= 2000);
}

#[test]
fn the_least_budget_counts_and_the_apps_total_caps_it() {
    let (_folder, server) = served();
    let url = format!("{}/v1/answer", server.address);
    let total = |body: Value, headers: &[(&str, &str)]| {
        let reply = post(&url, &body, headers);
        assert_eq!(reply.status, 200, "{}", reply.text);
        (reply.json()["budget"]["requested_ms"].clone(), reply.json()["budget"]["total_ms"].clone())
    };
    let asked = |budget_ms: u64| json!({"question": "password", "budget_ms": budget_ms});
    assert_eq!(total(json!({"question": "password"}), &[]), (Value::Null, json!(4000)));
    assert_eq!(total(asked(900), &[("x-request-timeout-ms", "1200")]), (json!(900), json!(900)));
    assert_eq!(total(asked(900), &[("grpc-timeout", "800m")]), (json!(800), json!(800)));
    assert_eq!(total(asked(900), &[("connect-timeout-ms", "700")]), (json!(700), json!(700)));
    assert_eq!(total(asked(60_000), &[]), (json!(60_000), json!(4000)));
    // Envoy's header is read only where an operator trusts it.
    let envoy = ("x-envoy-expected-rq-timeout-ms", "1");
    assert_eq!(total(asked(900), &[envoy]), (json!(900), json!(900)));
}

#[test]
fn every_bad_body_is_a_problem_that_names_its_field() {
    let (_folder, server) = served();
    let long = "よ".repeat(2001);
    let cases = [
        (json!({}), 400, "missing_field", "question"),
        (json!({"question": null}), 400, "missing_field", "question"),
        (json!({"question": 5}), 400, "invalid_field", "question"),
        (json!({"question": ["a"]}), 400, "invalid_field", "question"),
        (json!({"question": ""}), 400, "question_empty", "question"),
        (json!({"question": " \u{200b}\n"}), 400, "question_empty", "question"),
        (json!({"question": "?!…"}), 400, "question_without_words", "question"),
        (json!({"question": long}), 400, "question_too_long", "question"),
        (json!({"question": "a", "budget_ms": 0}), 400, "invalid_budget", "budget_ms"),
        (json!({"question": "a", "budget_ms": -1}), 400, "invalid_budget", "budget_ms"),
        (json!({"question": "a", "budget_ms": 1.5}), 400, "invalid_budget", "budget_ms"),
        (json!({"question": "a", "budget_ms": "900"}), 400, "invalid_budget", "budget_ms"),
        (json!({"question": "a", "budget_ms": 86_400_001}), 400, "invalid_budget", "budget_ms"),
        (json!({"question": "a", "app": "nobody"}), 404, "unknown_app", "app"),
        (json!({"question": "a", "app": "../etc"}), 400, "invalid_field", "app"),
        (json!({"question": "a", "lang": "english please"}), 400, "invalid_field", "lang"),
        (json!({"question": "a", "top_k": 0}), 400, "invalid_field", "top_k"),
        (json!({"question": "a", "top_k": 51}), 400, "invalid_field", "top_k"),
        (json!({"question": "a", "filters": []}), 400, "invalid_field", "filters"),
        (json!({"question": "a", "filters": {"tag": []}}), 400, "unknown_field", "filters.tag"),
        (json!({"question": "a", "filters": {"tags": [1]}}), 400, "invalid_field", "filters.tags"),
        (json!({"question": "a", "filters": {"lang": "x"}}), 400, "invalid_field", "filters.lang"),
        (json!({"question": "a", "questoin": "b"}), 400, "unknown_field", "questoin"),
    ];
    for path in ["answer", "search"] {
        for (body, status, code, field) in &cases {
            let reply = post(&format!("{}/v1/{path}", server.address), body, &[]);
            assert_eq!((reply.status, reply.code().as_str()), (*status, *code), "{body}");
            assert_eq!(reply.json()["field"], *field, "{body}");
            assert_eq!(reply.headers["content-type"], "application/problem+json");
            assert!(!reply.json()["detail"].as_str().expect("a detail").is_empty());
            assert!(reply.headers.contains_key("x-request-id"));
        }
    }
}

#[test]
fn every_bad_budget_header_is_a_problem_that_names_it() {
    let (_folder, server) = served();
    let cases = [
        ("x-request-timeout-ms", "soon"),
        ("x-request-timeout-ms", "0"),
        ("grpc-timeout", "1x"),
        ("grpc-timeout", "1"),
        ("connect-timeout-ms", "-5"),
    ];
    for (name, value) in cases {
        let url = format!("{}/v1/answer", server.address);
        let reply = post(&url, &json!({"question": "password"}), &[(name, value)]);
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (400, "invalid_budget"),
            "{name}: {value}"
        );
        assert_eq!(reply.json()["field"], name);
    }
}

fn raw(server: &Server, head: &str, body: &[u8]) -> Reply {
    let mut bytes = format!(
        "{head}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    send_raw(&server.address, &bytes)
}

#[test]
fn what_is_no_json_object_is_a_problem() {
    let (_folder, server) = served();
    let json_head = "POST /v1/answer HTTP/1.1\r\ncontent-type: application/json";
    let cases: [(&str, &[u8], u16, &str); 8] = [
        (json_head, b"", 400, "malformed_json"),
        (json_head, b"{\"question\": ", 400, "malformed_json"),
        (json_head, b"[1]", 400, "malformed_json"),
        (json_head, b"\"question\"", 400, "malformed_json"),
        (json_head, b"{\"question\": \"\xff\xfe\"}", 400, "malformed_json"),
        ("POST /v1/answer HTTP/1.1", b"{}", 415, "unsupported_media_type"),
        (
            "POST /v1/answer HTTP/1.1\r\ncontent-type: text/plain",
            b"{\"question\": \"a\"}",
            415,
            "unsupported_media_type",
        ),
        (json_head, &[b' '; 140_000], 413, "body_too_large"),
    ];
    for (head, body, status, code) in cases {
        let reply = raw(&server, head, body);
        assert_eq!((reply.status, reply.code().as_str()), (status, code), "{head}");
    }
    // A charset beside the type is fine.
    let head = "POST /v1/answer HTTP/1.1\r\ncontent-type: application/json; charset=utf-8";
    assert_eq!(raw(&server, head, b"{\"question\": \"password\"}").status, 200);
}

#[test]
fn a_body_that_does_not_come_is_given_up_at_the_budget() {
    let (_folder, server) = served();
    let head = "POST /v1/answer HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
        content-type: application/json\r\nx-request-timeout-ms: 300\r\ncontent-length: 100\r\n\r\n{";
    let reply = send_raw(&server.address, head.as_bytes());
    assert_eq!((reply.status, reply.code().as_str()), (408, "body_timeout"));
}

#[test]
fn other_paths_and_methods_are_problems_too() {
    let (_folder, server) = served();
    let cases = [
        ("GET /v1/answer HTTP/1.1", 405, "method_not_allowed"),
        ("DELETE /v1/search HTTP/1.1", 405, "method_not_allowed"),
        ("POST /livez HTTP/1.1", 405, "method_not_allowed"),
        ("GET /v1/answers HTTP/1.1", 404, "not_found"),
        ("POST / HTTP/1.1", 404, "not_found"),
    ];
    for (head, status, code) in cases {
        let reply = raw(&server, head, b"");
        assert_eq!((reply.status, reply.code().as_str()), (status, code), "{head}");
        assert_eq!(reply.headers.contains_key("allow"), status == 405, "{head}");
    }
}

#[test]
fn filters_and_languages_choose_what_answers() {
    let (_folder, server) = served();
    let japanese = ask(&server, &json!({"question": "パスワードを忘れた"})).json();
    assert_eq!(japanese["answer"]["lang"], "ja");
    assert_eq!(japanese["citations"][0]["article_id"], "reset-ja");
    let filtered = json!({"question": "password reset", "filters": {"tags": ["account"]}});
    let filtered = ask(&server, &filtered).json();
    assert_eq!(filtered["citations"].as_array().map(Vec::len), Some(1));
    assert_eq!(filtered["citations"][0]["article_id"], "reset");
    let nothing =
        ask(&server, &json!({"question": "password", "filters": {"tags": ["none"]}})).json();
    assert_eq!(nothing["answer"]["kind"], "no_match");
}

#[test]
fn a_search_finds_by_an_unfinished_word_and_marks_it() {
    let (_folder, server) = served();
    let url = format!("{}/v1/search", server.address);
    let body = post(&url, &json!({"question": "reset passw"}), &[]).json();
    let hit = &body["hits"][0];
    assert_eq!(hit["article_id"], "reset");
    assert_eq!(body["budget"]["total_ms"], 300);
    let passage = &hit["passages"][0];
    let text: Vec<char> = passage["text"].as_str().expect("text").chars().collect();
    let marked: Vec<String> = passage["highlights"]
        .as_array()
        .expect("marks")
        .iter()
        .map(|mark| {
            let at =
                |n: usize| usize::try_from(mark[n].as_u64().expect("an offset")).expect("small");
            text[at(0)..at(1)].iter().collect()
        })
        .collect();
    assert!(
        marked.contains(&"Reset".to_owned()) && marked.contains(&"password".to_owned()),
        "{marked:?}"
    );
}

#[test]
fn several_apps_have_to_be_told_apart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    index(folder.path(), "one");
    index(folder.path(), "two");
    let settings = "[apps.three.budget]\ntotal = \"2s\"\n[apps.two.budget]\ntotal = \"3s\"\n";
    std::fs::write(folder.path().join("kiwari.toml"), settings).expect("a writable folder");
    let server = Server::start(folder.path(), &[]);
    let status_and_code = |body: Value| {
        let reply = ask(&server, &body);
        (reply.status, reply.code())
    };
    let code = |code: &str| code.to_owned();
    assert_eq!(status_and_code(json!({"question": "password"})), (400, code("app_required")));
    let missing = ask(&server, &json!({"question": "password", "app": "three"}));
    assert_eq!((missing.status, missing.code()), (503, code("index_missing")));
    assert!(missing.headers.contains_key("retry-after"));
    let two = ask(&server, &json!({"question": "password", "app": "two"})).json();
    assert_eq!(two["budget"]["total_ms"], 3000);
}

#[test]
fn without_an_index_it_lives_but_is_not_ready_and_takes_one_up_by_itself() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Server::start(folder.path(), &[]);
    assert_eq!(get(&format!("{}/livez", server.address)).status, 200);
    assert_eq!(get(&format!("{}/readyz", server.address)).status, 503);
    let reply = ask(&server, &json!({"question": "password"}));
    assert_eq!((reply.status, reply.code().as_str()), (503, "index_missing"));

    index(folder.path(), "default");
    let ready = || get(&format!("{}/readyz", server.address)).status == 200;
    assert!(eventually(ready), "the published generation was not taken up");
    assert_eq!(ask(&server, &json!({"question": "password"})).status, 200);
    let health = get(&format!("{}/health", server.address)).json();
    assert_eq!(health["status"], "ok");
    assert_eq!(health["apps"][0]["app"], "default");
    assert_eq!(health["apps"][0]["articles"], 2);
}

/// Looks again and again, for half a minute at most.
fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    for _ in 0..300 {
        if holds() {
            return true;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "a test program of its own, not the runtime"
        )]
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    false
}

#[test]
fn only_loopback_is_listened_on_unless_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let refused = kiwari(folder.path(), &["serve", "--data-dir", "data", "--bind", "0.0.0.0:0"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("server.public"), "{}", refused.stderr);
}
