//! Requests recorded from the official clients, answered as those clients expect.

use std::path::{Path, PathBuf};

use simulator::{Fault, FaultKind, FaultPlan, Settings, Simulator, StageFaults};

use crate::support::{End, Reply, exchange};

/// The recordings, where they are to be had.
fn recordings() -> Option<PathBuf> {
    let shared = std::env::var_os("KIWARI_SHARED").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = shared.unwrap_or_else(beside).join("reference/recorded");
    folder.is_dir().then_some(folder)
}

/// One recorded request.
struct Recording {
    name: String,
    path: String,
    bytes: Vec<u8>,
    is_short_of_time: bool,
    is_generation: bool,
}

impl Recording {
    fn read(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).expect("a recording is text");
        let body = std::fs::read(file.with_extension("rawbody")).unwrap_or_default();
        let head = text.split("\n\n").next().expect("a head").replace("<REDACTED>", "test");
        // Two paths name the reply they were recorded with, where a version should stand.
        let head = head.replace("/err429/", "/v1/").replace("/midstream/", "/v1/");
        let path = head.split(' ').nth(1).expect("a request line").to_owned();
        let lower = head.to_ascii_lowercase();
        let is_generation = path.contains("enerateContent") || path.contains("chat/completions");
        Self {
            name: file.file_stem().expect("a name").to_string_lossy().into_owned(),
            is_short_of_time: lower.contains("x-server-timeout: 3") && path.contains(':'),
            is_generation,
            bytes: [head.replace('\n', "\r\n").as_bytes(), b"\r\n\r\n", &body].concat(),
            path,
        }
    }

    /// What was wrong with the reply when it was recorded.
    fn fault(&self) -> Option<FaultKind> {
        let faults = [
            ("err429", FaultKind::RateLimitedMinute),
            ("err504", FaultKind::DeadlineExceeded),
            ("midstream", FaultKind::MidstreamErrorEvent),
        ];
        faults.into_iter().find(|(name, _)| self.name.contains(name)).map(|(_, kind)| kind)
    }

    fn is_of_caches(&self) -> bool {
        self.name.contains("cache")
    }
}

fn all(folder: &Path) -> Vec<Recording> {
    let files = std::fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "http"));
    files.sort();
    files.iter().map(|file| Recording::read(file)).filter(|r| !r.is_of_caches()).collect()
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
async fn recorded_requests_are_answered_as_their_clients_expect() {
    let Some(folder) = recordings() else {
        println!("skipped: there are no recordings beside the repository");
        return;
    };
    let settings = Settings { deadline_floor: false, ..Settings::quiet() };
    let simulator = Simulator::start(settings).await.unwrap();
    let recordings = all(&folder);
    assert!(recordings.len() >= 45, "{} recordings", recordings.len());
    for recording in recordings {
        let generate = recording.fault().map(|kind| StageFaults::rule(Fault::always(kind)));
        let generate = generate.unwrap_or_default();
        simulator.set_faults(FaultPlan { generate, ..FaultPlan::default() });
        check(&recording, &exchange(simulator.address(), &recording.bytes).await);
    }
}

#[track_caller]
fn check(recording: &Recording, reply: &Reply) {
    let name = &recording.name;
    let status = match recording.fault() {
        Some(FaultKind::RateLimitedMinute) => 429,
        Some(FaultKind::DeadlineExceeded) => 504,
        _ => 200,
    };
    assert_eq!((reply.status, reply.end), (status, End::Whole), "{name}: {}", reply.text());
    let content_type = reply.headers["content-type"].as_str();
    let streams = recording.path.contains("stream")
        || name.contains("oai_stream")
        || name.contains("oaijs_stream")
        || name.contains("oai_midstream");
    if streams {
        assert_eq!(content_type, "text/event-stream", "{name}");
        let events = reply.events();
        let last = &events[events.len() - 1];
        let failed = recording.fault().is_some();
        assert_eq!(last.get("error").is_some(), failed, "{name}: {last}");
        return;
    }
    assert!(content_type.starts_with("application/json"), "{name}");
    let body = reply.json();
    let member = match status {
        200 if recording.path.contains("openai/models") => "data",
        200 if recording.path.contains(":generateContent") => "candidates",
        200 if recording.path.contains("chat/completions") => "choices",
        200 if recording.path.contains(":batchEmbedContents") => "embeddings",
        200 if recording.path.contains("embeddings") => "data",
        200 if recording.path.contains(":countTokens") => "totalTokens",
        200 => "models",
        _ => "error",
    };
    assert!(!body[member].is_null(), "{name}: {body}");
    if status != 200 {
        assert!(body["error"]["message"].is_string() && recording.is_generation, "{name}");
    }
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
async fn recorded_deadlines_of_three_seconds_are_too_short() {
    let Some(folder) = recordings() else {
        println!("skipped: there are no recordings beside the repository");
        return;
    };
    let simulator = Simulator::start(Settings::quiet()).await.unwrap();
    let short: Vec<Recording> =
        all(&folder).into_iter().filter(|recording| recording.is_short_of_time).collect();
    assert!(short.len() >= 20);
    for recording in short {
        let reply = exchange(simulator.address(), &recording.bytes).await;
        assert_eq!(reply.status, 400, "{}", recording.name);
        assert!(reply.text().contains("deadline 3s is too short"), "{}", recording.name);
    }
}
