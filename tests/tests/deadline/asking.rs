//! Asking the server, and what came back.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use system_tests::{Reply, post};

use crate::world::{World, pause};

/// In which form an answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Stream,
}

/// An answer as its reader sees it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) form: Form,
    pub(crate) status: u16,
    pub(crate) took: Duration,
    pub(crate) kind: String,
    pub(crate) degraded: bool,
    /// `stage:reason`, but for those that only inform.
    pub(crate) reasons: Vec<String>,
    /// What was told piece by piece is the answer's text; of JSON, always.
    pub(crate) adds_up: bool,
}

const QUESTION: &str = "How do I reset my password?";

#[expect(clippy::disallowed_types, reason = "the response's real time is what is tested")]
pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// Asks once in each of `forms`, all at the same time.
pub(crate) fn ask_at_once(world: &World, forms: &[Form]) -> Vec<Seen> {
    thread::scope(|scope| {
        let asking: Vec<_> =
            forms.iter().map(|form| scope.spawn(move || ask(world, *form))).collect();
        asking.into_iter().map(|asking| asking.join().expect("asking does not panic")).collect()
    })
}

fn ask(world: &World, form: Form) -> Seen {
    let url = format!("{}/v1/answer", world.server.address);
    let body = json!({ "question": QUESTION, "stream": form == Form::Stream });
    let before = now();
    let reply = post(&url, &body, &[]);
    let took = before.elapsed();
    match form {
        Form::Json => seen(form, &reply, took, &reply.json(), true),
        Form::Stream => {
            let (told, done) = read_events(&reply.text);
            let adds_up = done["answer"]["text"] == told.as_str();
            seen(form, &reply, took, &done, adds_up)
        }
    }
}

fn seen(form: Form, reply: &Reply, took: Duration, body: &Value, adds_up: bool) -> Seen {
    let reasons = body["reasons"].as_array().cloned().unwrap_or_default();
    let name = |reason: &Value| {
        let part = |key: &str| reason[key].as_str().unwrap_or_default().to_owned();
        format!("{}:{}", part("stage"), part("reason"))
    };
    Seen {
        form,
        status: reply.status,
        took,
        kind: body["answer"]["kind"].as_str().unwrap_or_default().to_owned(),
        degraded: body["degraded"] == true,
        reasons: reasons.iter().map(name).filter(|name| !name.ends_with(":downgraded")).collect(),
        adds_up,
    }
}

/// The text that the events add up to, and what `done` says.
fn read_events(stream: &str) -> (String, Value) {
    let mut told = String::new();
    let mut done = Value::Null;
    for event in stream.split("\n\n") {
        let field =
            |name: &str| event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let Some(data) = field("data") else { continue };
        let data: Value = serde_json::from_str(data).expect("data is JSON");
        let text = data["text"].as_str().unwrap_or_default();
        match field("event") {
            Some("delta") => told.push_str(text),
            Some("replace") => text.clone_into(&mut told),
            Some("done") => done = data,
            _ => {}
        }
    }
    (told, done)
}

/// Asks, and closes the connection after `patience` without having read the answer.
pub(crate) fn leave_after(world: &World, form: Form, patience: Duration) {
    let host = world.server.address.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).expect("the server listens");
    let body = json!({ "question": QUESTION, "stream": form == Form::Stream }).to_string();
    let request = format!(
        "POST /v1/answer HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("the server reads");
    if form == Form::Stream {
        // The first events have come when the head has.
        let mut first = [0; 64];
        let _read = stream.read(&mut first).expect("the server answers");
    }
    pause(patience);
}
