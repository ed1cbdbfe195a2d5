//! `kiwari bench` against a real server.

use serde_json::Value;
use system_tests::{Outcome, Server, kiwari};
use tempfile::TempDir;

fn served() -> (TempDir, Server) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let help = folder.path().join("help");
    std::fs::create_dir(&help).expect("a writable folder");
    std::fs::write(help.join("a.md"), "# Export invoices\n\nOpen Billing and press Export.\n")
        .expect("a writable folder");
    let questions = "id\tquestion\n1\tHow do I export invoices?\n2\tWhere is Billing?\n";
    std::fs::write(folder.path().join("questions.tsv"), questions).expect("a writable folder");
    let indexed = kiwari(folder.path(), &["index", "help", "--data-dir", "data"]);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
    let server = Server::start(folder.path(), &[]);
    (folder, server)
}

fn bench(folder: &TempDir, url: &str, more: &[&str]) -> Outcome {
    let mut arguments = vec!["bench", "--url", url, "--questions", "questions.tsv"];
    arguments.extend(more);
    kiwari(folder.path(), &arguments)
}

#[test]
fn every_request_is_sent_named_and_counted() {
    let (folder, server) = served();
    let load: [&[&str]; 3] = [
        &["--rate", "50", "--count", "25"],
        &["--rate", "50", "--count", "25", "--arrivals", "even", "--stream"],
        &["--concurrency", "4", "--count", "25", "--budget-ms", "3000"],
    ];
    for more in load {
        let measured =
            bench(&folder, &server.address, &[more, &["--seed", "7", "--json"]].concat());
        assert_eq!(measured.code, Some(0), "{}{}", measured.stdout, measured.stderr);
        let figures: Value = serde_json::from_str(&measured.stdout).expect("JSON");
        for (key, count) in [("sent", 25), ("answered", 25), ("failed", 0)] {
            assert_eq!(figures[key], count, "{key}");
        }
        assert_eq!(figures["latency_ms"]["count"], 25);
        assert_eq!(figures["statuses"]["200"], 25);
        assert_eq!(figures["kinds"]["templated"]["count"], 25);
        assert_eq!(figures["reasons"]["generate"]["no_generator"]["share"], 1.0);
        assert_eq!(figures["late"]["from_send"]["count"], 0);
        let streamed = more.contains(&"--stream");
        assert_eq!(figures["first_content_ms"].is_object(), streamed);
    }
    let table = bench(&folder, &server.address, &["--concurrency", "1", "--count", "2"]);
    assert!(
        table.stdout.contains("p99.9") && table.stdout.contains("templated"),
        "{}",
        table.stdout
    );
    server.signal("TERM");
    let (_, log) = server.join();
    let lines = log.iter().filter(|line| line["target"] == "kiwari::request");
    assert_eq!(lines.count(), 77);
}

#[test]
fn a_server_that_is_not_there_and_questions_that_are_refused_are_failures() {
    let (folder, server) = served();
    let refused =
        bench(&folder, &server.address, &["--concurrency", "1", "--count", "3", "--app", "nobody"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stdout.contains("status 404 unknown_app"), "{}", refused.stdout);
    let address = server.address.clone();
    server.signal("TERM");
    let _stopped = server.join();
    let gone = bench(&folder, &address, &["--rate", "100", "--count", "3", "--json"]);
    assert_eq!(gone.code, Some(1), "{}", gone.stderr);
    let figures: Value = serde_json::from_str(&gone.stdout).expect("JSON");
    assert_eq!(figures["errors"]["cannot connect"]["count"], 3, "{figures}");
    let neither = bench(&folder, &address, &["--count", "3"]);
    assert_eq!(neither.code, Some(64), "{}", neither.stderr);
}
