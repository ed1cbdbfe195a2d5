//! Answers as event streams: their grammar, and that they say what the JSON form says.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use system_tests::{Reply, Server, Simulator, kiwari, post};
use tempfile::TempDir;

/// More sentences than one answer holds.
const PAGE: &str = "---\ntitle: Reset your password\nlang: en\n---\n\n\
    Open Settings and choose Reset password. A link arrives by mail within five minutes. \
    The link to reset the password works once. After an hour it works no longer.\n";

fn indexed() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let help = folder.path().join("help");
    std::fs::create_dir(&help).expect("a writable folder");
    std::fs::write(help.join("reset.md"), PAGE).expect("a writable folder");
    let indexed = kiwari(folder.path(), &["index", "help", "--data-dir", "data"]);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
    folder
}

/// Nothing writes but the articles themselves.
fn served() -> (TempDir, Server) {
    let folder = indexed();
    let server = Server::start(folder.path(), &[]);
    (folder, server)
}

/// A simulated model writes; there is a minute for each answer.
fn written() -> (TempDir, Server, Simulator) {
    let folder = indexed();
    std::fs::write(folder.path().join("kiwari.toml"), "[budget]\ntotal = \"60s\"\n")
        .expect("a writable folder");
    let simulator = Simulator::start(folder.path(), &[]);
    let server = Server::start_with(folder.path(), &[], &simulator.as_gemini());
    (folder, server, simulator)
}

fn ask(server: &Server, body: &Value, accept: &str) -> Reply {
    post(&format!("{}/v1/answer", server.address), body, &[("accept", accept)])
}

/// The events' names and data; a stream that is anything else is refused.
#[track_caller]
fn events(stream: &str) -> Vec<(String, Value)> {
    assert!(stream.ends_with("\n\n"), "{stream:?}");
    let blocks = stream.trim_end().split("\n\n").filter(|block| !block.starts_with(':'));
    blocks
        .map(|block| {
            let (name, data) = block.split_once('\n').expect("two lines");
            let name = name.strip_prefix("event: ").expect("an event's name");
            let data = data.strip_prefix("data: ").expect("its data");
            (name.to_owned(), serde_json::from_str(data).expect("JSON on one line"))
        })
        .collect()
}

/// The text as a client has it in the end.
fn text(events: &[(String, Value)]) -> String {
    let mut text = String::new();
    for (name, data) in events {
        match name.as_str() {
            "delta" => text.push_str(data["text"].as_str().expect("a text")),
            "replace" => data["text"].as_str().expect("a text").clone_into(&mut text),
            _ => {}
        }
    }
    text
}

/// Sources, texts, at most one replacement, and one end.
#[track_caller]
fn check_grammar(events: &[(String, Value)]) {
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    let [body @ .., "done"] = &names[..] else { panic!("{names:?}") };
    let body = body.strip_prefix(&["sources"]).unwrap_or(body);
    let body = body.strip_suffix(&["replace"]).unwrap_or(body);
    assert!(body.iter().all(|name| *name == "delta"), "{names:?}");
}

#[test]
fn a_stream_adds_up_to_what_the_json_form_says() {
    let (_folder, server) = served();
    let question = json!({"question": "How do I reset my password?", "budget_ms": 2000});
    let plain = ask(&server, &question, "application/json").json();
    let mut streamed = question.clone();
    streamed["stream"] = json!(true);
    for reply in [ask(&server, &question, "text/event-stream"), ask(&server, &streamed, "*/*")] {
        assert_eq!(reply.status, 200);
        assert_eq!(reply.headers["content-type"], "text/event-stream");
        assert_eq!(reply.headers["cache-control"], "no-store");
        assert_eq!(reply.headers["x-accel-buffering"], "no");
        assert!(reply.headers.contains_key("x-request-id"));
        let events = events(&reply.text);
        check_grammar(&events);
        assert_eq!(events[0].0, "sources");
        assert_eq!(events[0].1["sources"][0]["article_id"], "reset");
        let done = &events.last().expect("done").1;
        assert_eq!(text(&events), done["answer"]["text"].as_str().expect("a text"));
        assert!(done["deadline_remaining_ms"].as_u64().expect("milliseconds") <= 2000);
        for same in ["answer", "citations", "degraded", "generation"] {
            assert_eq!(done[same], plain[same], "{same}");
        }
        let keys = |object: &Value| -> Vec<String> {
            object.as_object().expect("an object").keys().cloned().collect()
        };
        let mut expected = keys(&plain);
        expected.push("deadline_remaining_ms".to_owned());
        expected.sort_unstable();
        let mut found = keys(done);
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}

#[test]
fn what_finds_nothing_or_has_no_time_streams_as_well() {
    let (_folder, server) = served();
    for question in [
        json!({"question": "zebra crossing", "stream": true}),
        json!({"question": "How do I reset my password?", "stream": true, "budget_ms": 1}),
    ] {
        let events = events(&ask(&server, &question, "*/*").text);
        check_grammar(&events);
        let done = &events.last().expect("done").1;
        assert_eq!(text(&events), done["answer"]["text"].as_str().expect("a text"), "{question}");
        assert!(!text(&events).is_empty());
    }
}

#[test]
fn what_is_asked_for_in_so_many_words_goes_before_what_is_accepted() {
    let (_folder, server) = served();
    let question = json!({"question": "password", "stream": false});
    assert_eq!(ask(&server, &question, "text/event-stream").json()["answer"]["kind"], "templated");
    // JSON is for those who accept anything.
    let question = json!({"question": "password"});
    assert_eq!(ask(&server, &question, "*/*").headers["content-type"], "application/json");
    let accept = "application/json;q=0.5, text/event-stream";
    assert_eq!(ask(&server, &question, accept).headers["content-type"], "text/event-stream");
}

#[test]
fn what_cannot_be_answered_is_a_problem_before_any_stream_begins() {
    let (_folder, server) = served();
    let cases = [
        (json!({"question": "", "stream": true}), 400, "question_empty", "question"),
        (json!({"question": "a", "stream": "yes"}), 400, "invalid_field", "stream"),
        (json!({"question": "a", "reasoning": "much"}), 400, "invalid_field", "reasoning"),
        (json!({"question": "a", "reasoning": true}), 400, "invalid_field", "reasoning"),
        (json!({"question": "a", "app": "nobody"}), 404, "unknown_app", "app"),
    ];
    for (body, status, code, field) in cases {
        let reply = ask(&server, &body, "text/event-stream");
        assert_eq!((reply.status, reply.code().as_str()), (status, code), "{body}");
        assert_eq!(reply.headers["content-type"], "application/problem+json");
        assert_eq!(reply.json()["field"], field);
    }
    for reasoning in ["auto", "on", "off"] {
        let body = json!({"question": "password", "reasoning": reasoning});
        assert_eq!(ask(&server, &body, "application/json").status, 200);
    }
    // A search is neither written nor streamed.
    for body in
        [json!({"question": "a", "stream": true}), json!({"question": "a", "reasoning": "on"})]
    {
        let reply = post(&format!("{}/v1/search", server.address), &body, &[]);
        assert_eq!((reply.status, reply.code().as_str()), (400, "unknown_field"), "{body}");
    }
}

#[test]
fn every_streamed_answer_is_logged_and_recorded_once() {
    let (folder, server) = served();
    let ids: Vec<String> = (0..10)
        .map(|_| {
            let body = json!({"question": "reset password", "stream": true});
            let events = events(&ask(&server, &body, "*/*").text);
            events.last().expect("done").1["id"].as_str().expect("an id").to_owned()
        })
        .collect();
    server.signal("TERM");
    let (status, log) = server.join();
    assert!(status.success(), "{status}");
    let lines = log.iter().filter(|line| line["target"] == "kiwari::request");
    let logged: Vec<&Value> = lines.inspect(|line| assert_eq!(line["streamed"], true)).collect();
    let logged: Vec<&str> =
        logged.iter().map(|line| line["request_id"].as_str().expect("an id")).collect();
    assert_eq!(logged, ids);
    let arguments = ["report", "stages", "--since", "1h", "--json", "--data-dir", "data"];
    let report = kiwari(folder.path(), &arguments);
    let rows: Vec<Value> = serde_json::from_str(&report.stdout).expect("JSON");
    assert!(rows.iter().all(|row| row["count"] == 10), "{rows:?}");
}

#[test]
fn what_a_model_writes_streams_sentence_by_sentence() {
    let (_folder, server, _simulator) = written();
    let question = json!({"question": "How do I reset my password?", "stream": true});
    for _ in 0..5 {
        let events = events(&ask(&server, &question, "*/*").text);
        check_grammar(&events);
        assert_eq!(events[0].0, "sources");
        let done = &events.last().expect("done").1;
        assert_eq!(done["answer"]["kind"], "generated", "{done}");
        assert_eq!(text(&events), done["answer"]["text"].as_str().expect("a text"));
        assert!(done["model"]["served"].is_string());
    }
}

#[test]
fn a_client_that_leaves_closes_the_call_of_the_model() {
    let (_folder, server, simulator) = written();
    simulator.break_stage("generate", "hang_before_headers");
    let host = server.address.trim_start_matches("http://").to_owned();
    for stream in [false, true] {
        let body = json!({"question": "reset password", "stream": stream}).to_string();
        let head = "POST /v1/answer HTTP/1.1\r\nhost: a\r\ncontent-type: application/json";
        let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let mut client = TcpStream::connect(&host).expect("the server listens");
        client.write_all(request.as_bytes()).expect("the server reads");
        assert!(eventually(|| simulator.summary()["open"].as_u64() > Some(0)));
        drop(client);
        // The answer itself would have waited for a minute.
        assert!(simulator.settles_within(Duration::from_secs(20)));
    }
    server.signal("TERM");
    let (_, log) = server.join();
    let kinds: Vec<&Value> = log
        .iter()
        .filter(|line| line["target"] == "kiwari::request")
        .map(|line| &line["kind"])
        .collect();
    assert_eq!(kinds, ["abandoned", "abandoned"]);
}

/// Looks again and again, for half a minute at most.
fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    for _ in 0..600 {
        if holds() {
            return true;
        }
        #[expect(clippy::disallowed_methods, reason = "a test's own thread, not the runtime's")]
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}
