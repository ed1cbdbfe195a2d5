//! Models behind an API, through the real binary: which one is asked, and what is said when none can be.

use std::path::Path;

use serde_json::{Value, json};
use system_tests::{Outcome, Server, Simulator, kiwari_with, post};
use tempfile::TempDir;

const PAGE: &str = "# Reset your password\n\nOpen Settings and choose Reset password. A link to reset your \
    password arrives by mail within five minutes.\n";

/// A folder with one page, a simulated API, and nothing indexed yet.
fn world() -> (TempDir, Simulator) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let help = folder.path().join("help");
    std::fs::create_dir(&help).expect("a writable folder");
    std::fs::write(help.join("reset.md"), PAGE).expect("a writable folder");
    let simulator = Simulator::start(folder.path(), &[]);
    (folder, simulator)
}

fn index(folder: &Path, more: &[&str], environment: &[(&str, &str)]) -> Outcome {
    let mut arguments = vec!["index", "help", "--data-dir", "data"];
    arguments.extend(more);
    kiwari_with(folder, &arguments, environment)
}

fn ask(server: &Server) -> Value {
    let reply = post(
        &format!("{}/v1/answer", server.address),
        &json!({"question": "How do I reset my password?"}),
        &[],
    );
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

#[test]
fn a_key_turns_on_the_writing_and_leaves_the_embedding_alone() {
    let (folder, simulator) = world();
    assert_eq!(index(folder.path(), &[], &[]).code, Some(0));
    let server = Server::start_with(folder.path(), &[], &simulator.as_gemini());
    let body = ask(&server);
    assert_eq!(body["answer"]["kind"], "generated", "{body}");
    assert_eq!(body["degraded"], false);
    assert_eq!(body["reasons"], json!([]));
    assert_eq!(body["model"]["requested"], "gemini-3.5-flash-lite");
    assert!(body["model"]["output_tokens"].as_u64() > Some(0));
    assert_eq!(body["citations"][0]["article_id"], "reset");
    let quote = body["citations"][0]["quote"].as_str().expect("a quote");
    assert!(PAGE.contains(quote), "{quote}");
    let summary = simulator.summary();
    assert_eq!((&summary["embed_calls"], &summary["generate_calls"]), (&json!(0), &json!(1)));
}

#[test]
fn without_a_key_nothing_has_failed() {
    let (folder, _simulator) = world();
    assert_eq!(index(folder.path(), &[], &[]).code, Some(0));
    let body = ask(&Server::start(folder.path(), &[]));
    assert_eq!(body["answer"]["kind"], "templated");
    assert_eq!(body["reasons"][0]["reason"], "no_generator");
    assert_eq!(body["degraded"], false);
}

#[test]
fn a_wrong_key_degrades_answers_is_logged_once_and_the_doctor_says_so() {
    let (folder, simulator) = world();
    assert_eq!(index(folder.path(), &[], &[]).code, Some(0));
    let environment = [("GEMINI_API_KEY", "bad-key"), ("GEMINI_BASE_URL", &*simulator.address)];
    let doctor = kiwari_with(folder.path(), &["doctor", "--data-dir", "data"], &environment);
    assert_eq!(doctor.code, Some(1), "{}", doctor.stdout);
    assert!(doctor.stdout.contains("the key is wrong"), "{}", doctor.stdout);
    assert!(!doctor.stdout.contains("bad-key") && !doctor.stderr.contains("bad-key"));

    let server = Server::start_with(folder.path(), &[], &environment);
    for _ in 0..5 {
        let body = ask(&server);
        assert_eq!(body["answer"]["kind"], "templated");
        assert_eq!(body["degraded"], true);
        let reason = body["reasons"][0]["reason"].as_str().expect("a reason").to_owned();
        assert!(["error", "breaker_open"].contains(&reason.as_str()), "{reason}");
    }
    server.signal("TERM");
    let (_status, log) = server.join();
    let complaints = log.iter().filter(|line| line["stage.name"] == "generate").count();
    assert!((1..=2).contains(&complaints), "one line per kind of failure: {log:?}");
    assert!(log.iter().all(|line| !line.to_string().contains("bad-key")));
}

#[test]
fn any_compatible_server_writes_too() {
    let (folder, simulator) = world();
    assert_eq!(index(folder.path(), &[], &[]).code, Some(0));
    let base = format!("{}/v1", simulator.address);
    let environment = [
        ("OPENAI_API_KEY", "key"),
        ("OPENAI_BASE_URL", &*base),
        ("KIWARI__GENERATE__MODEL", "my-model"),
    ];
    let body = ask(&Server::start_with(folder.path(), &[], &environment));
    assert_eq!(body["answer"]["kind"], "generated", "{body}");
    assert_eq!(body["model"]["requested"], "my-model");
}

#[test]
fn a_generation_is_asked_with_the_embedder_that_made_it_or_by_keywords() {
    let (folder, simulator) = world();
    let refused = index(folder.path(), &["--embedder", "gemini"], &[]);
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("GEMINI_API_KEY"), "{}", refused.stderr);

    let environment = simulator.as_gemini();
    let indexed = index(folder.path(), &["--embedder", "gemini"], &environment);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
    simulator.clear_journal();
    let body = ask(&Server::start_with(folder.path(), &[], &environment));
    assert_eq!(body["answer"]["kind"], "generated", "{body}");
    assert_eq!(simulator.summary()["embed_calls"], 1);

    // The same index without a key: words alone, and it says so.
    let body = ask(&Server::start(folder.path(), &[]));
    assert_eq!(
        body["reasons"][0],
        json!({"stage": "embed", "reason": "unavailable", "budget_ms": 0, "elapsed_ms": 0.0})
    );
    assert_eq!(body["degraded"], true);

    // Indexing again keeps the embedder unless told otherwise.
    let again = index(folder.path(), &[], &environment);
    assert!(again.stdout.contains("nothing has changed"), "{}{}", again.stdout, again.stderr);
    assert_eq!(index(folder.path(), &["--embedder", "local"], &[]).code, Some(0));
    let body = ask(&Server::start(folder.path(), &[]));
    assert_eq!(body["degraded"], false, "{body}");
}

#[test]
fn impossible_models_are_refused_at_the_start_by_name() {
    let (folder, _simulator) = world();
    assert_eq!(index(folder.path(), &[], &[]).code, Some(0));
    let refused = |environment: &[(&str, &str)], part: &str| {
        let outcome = kiwari_with(folder.path(), &["ask", "x", "--data-dir", "data"], environment);
        assert_ne!(outcome.code, Some(0), "{part}");
        assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr);
    };
    refused(&[("KIWARI__GENERATE__PROVIDER", "gemini")], "GEMINI_API_KEY");
    refused(&[("KIWARI__GENERATE__PROVIDER", "openai"), ("OPENAI_API_KEY", "k")], "generate.model");
    refused(&[("KIWARI__GENERATE__PROVIDER", "palm")], "generate.provider");
    refused(&[("GEMINI_API_KEY", "k"), ("KIWARI__GENERATE__MODEL", "../x")], "../x");
    refused(&[("OPENAI_BASE_URL", "localhost")], "OPENAI_BASE_URL");
    refused(&[("KIWARI__EMBED__EMBEDDER", "cohere")], "embed.embedder");
}
