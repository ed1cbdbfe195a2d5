//! Calibrating with the real binary: proposed from what was answered, applied, and taken up by running servers.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use system_tests::{Database, Outcome, Server, Simulator, kiwari_with, post};
use tempfile::TempDir;

/// Answers that the log gets; 200 are needed.
const ANSWERS: u64 = 240;

/// Looking often: what takes 20 s otherwise should not hold a test up.
const LOOK: (&str, &str) = ("KIWARI__CALIBRATION__LOOK_EVERY", "1s");

/// Long enough for answers from it to tell how fast they were written.
const ARTICLE: &str = "# Export invoices\n\nTo export invoices, open Billing in the menu on the left, choose the \
    months that your accountant has asked for, press Export, and save the file in the folder of that year. \
    Whoever may see the invoices of a team may export them too, so ask its owner where the button is missing.\n";

/// What a model that is known by the table and not measured is given at most: 75 tokens a second after 400 ms of the
/// 3,950 ms that a request has.
const UNMEASURED_CAP: u64 = 266;

/// The least that a model's output is capped at.
const LEAST_CAP: u64 = 128;

/// How long a server is given to take a calibration up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder whose help was indexed through a model API that takes a tenth of the field's time.
fn world(environment: &[(&str, &str)]) -> (TempDir, Simulator) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let help = folder.path().join("help");
    std::fs::create_dir(&help).expect("a writable folder");
    std::fs::write(help.join("a.md"), ARTICLE).expect("a writable folder");
    let simulator = Simulator::start(folder.path(), &["--profile", "field", "--time-scale", "0.1"]);
    let indexed = run(folder.path(), &["index", "help"], &simulator, environment);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
    (folder, simulator)
}

fn all<'a>(simulator: &'a Simulator, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    simulator.as_gemini().into_iter().chain([LOOK]).chain(more.iter().copied()).collect()
}

fn run(folder: &Path, arguments: &[&str], simulator: &Simulator, more: &[(&str, &str)]) -> Outcome {
    let arguments: Vec<&str> = arguments.iter().copied().chain(["--data-dir", "data"]).collect();
    kiwari_with(folder, &arguments, &all(simulator, more))
}

fn serve(folder: &Path, simulator: &Simulator, more: &[(&str, &str)]) -> Server {
    Server::start_with(folder, &[], &all(simulator, more))
}

/// The id of an answer.
fn ask(server: &Server) -> String {
    let url = format!("{}/v1/answer", server.address);
    let answer = post(&url, &json!({"question": "export invoices"}), &[]).json();
    answer["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Asks so often, several at a time.
fn ask_often(server: &Server, times: u64) {
    let asked = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while asked.fetch_add(1, Ordering::Relaxed) < times {
                    ask(server);
                }
            });
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "there is no executor here to block")]
fn pause() {
    thread::sleep(Duration::from_millis(100));
}

fn until(what: &str, mut happens: impl FnMut() -> bool) {
    let tries = PATIENCE.as_millis() / 100;
    let happened = (0..tries).any(|_| {
        let happened = happens();
        if !happened {
            pause();
        }
        happened
    });
    assert!(happened, "{what} did not happen");
}

/// Which calibration the log says that a request ran under.
fn calibration_of(database: &Database, id: &str) -> u64 {
    let count = format!("SELECT count(*) FROM request_log WHERE request_id = '{id}'");
    until("the row's arrival", || database.number(&count) == 1);
    database.number(&format!("SELECT calibration FROM request_log WHERE request_id = '{id}'"))
}

/// The id of an answer, and where its models were asked to stop, in tokens.
fn ask_and_look(server: &Server, simulator: &Simulator) -> (String, Vec<u64>) {
    simulator.clear_journal();
    let id = ask(server);
    let journal = simulator.journal();
    let calls = journal.iter().filter(|call| call["kind"] == "generate");
    let caps: Vec<u64> = calls.map(|call| call["output_cap"].as_u64().expect("a cap")).collect();
    assert!(!caps.is_empty(), "{journal:?}");
    (id, caps)
}

fn lines<'a>(log: &'a [Value], message: &str) -> Vec<&'a Value> {
    log.iter().filter(|line| line["message"] == message).collect()
}

#[test]
fn running_servers_take_up_what_is_applied_and_refuse_nonsense() {
    let Some(database) = Database::fresh() else { return };
    let url = database.url();
    let environment = [("DATABASE_URL", url.as_str())];
    let (folder, simulator) = world(&environment);
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let one = serve(folder.path(), &simulator, &environment);
    let two = serve(elsewhere.path(), &simulator, &environment);

    ask_often(&one, 20);
    until("shipping", || database.number("SELECT count(*) FROM request_log") == 20);
    let calibrate = |more: &[&str]| {
        let arguments: Vec<&str> = ["calibrate"].iter().chain(more).copied().collect();
        run(folder.path(), &arguments, &simulator, &environment)
    };
    let thin = calibrate(&["--apply"]);
    assert_eq!(thin.code, Some(1), "{}", thin.stdout);
    assert!(thin.stdout.contains("180 more are needed"), "{}", thin.stdout);
    assert_eq!(database.number("SELECT count(*) FROM calibration"), 0);

    ask_often(&one, ANSWERS - 20);
    until("shipping", || database.number("SELECT count(*) FROM request_log") == ANSWERS);
    let only_shown = calibrate(&["--json"]);
    let shown: Value = serde_json::from_str(&only_shown.stdout).expect("JSON");
    assert_eq!(shown[0]["answered"], ANSWERS, "{shown}");
    assert_eq!(database.number("SELECT count(*) FROM calibration"), 0);
    let (id, caps) = ask_and_look(&two, &simulator);
    assert_eq!(calibration_of(&database, &id), 0);
    assert!(caps.iter().all(|cap| (LEAST_CAP..=UNMEASURED_CAP).contains(cap)), "{caps:?}");
    let applied = calibrate(&["--apply"]);
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    assert!(applied.stdout.contains("Applied as calibration 1."), "{}", applied.stdout);
    for server in [&one, &two] {
        until("taking up", || calibration_of(&database, &ask(server)) == 1);
        // The simulator writes ten times as fast as the model that it plays.
        let (_, caps) = ask_and_look(server, &simulator);
        assert!(caps.iter().any(|cap| *cap > UNMEASURED_CAP), "{caps:?}");
    }

    // Another pace at each hour, all of them slow.
    let by_hour = "INSERT INTO calibration (app, created_by, window_from, window_to, calibrated)
        SELECT app, created_by, window_from, window_to, calibrated || jsonb_build_object('speeds', (
            SELECT jsonb_agg(jsonb_build_object('model', 'gemini-3.5-flash-lite', 'hour', hour, 'n', 30,
                                                'first_token_ms', 50, 'tokens_per_second', 12 + hour / 2.0))
            FROM generate_series(0, 23) AS hour))
        FROM calibration RETURNING number";
    assert_eq!(database.number(by_hour), 2);
    for server in [&one, &two] {
        until("taking up", || calibration_of(&database, &ask(server)) == 2);
        let (id, caps) = ask_and_look(server, &simulator);
        assert_eq!(calibration_of(&database, &id), 2);
        assert!(caps.iter().all(|cap| *cap == LEAST_CAP), "{caps:?}");
        let at_its_hour = format!(
            "SELECT count(*) FROM request_log WHERE request_id = '{id}'
             AND (trace -> 'primary' ->> 'tokens_per_second')::numeric
                 = 12 + extract(hour FROM received_at AT TIME ZONE 'UTC') / 2.0"
        );
        assert_eq!(database.number(&at_its_hour), 1);
    }

    // What fits no budget is refused by both, once, and the old one stays.
    let nonsense = "INSERT INTO calibration (app, created_by, window_from, window_to, calibrated)
        SELECT app, created_by, window_from, window_to,
               calibrated || '{\"minimums\": {\"embed_ms\": 5000, \"vector_ms\": 1, \"generate_ms\": 1}}'
        FROM calibration WHERE number = 1 RETURNING number";
    assert_eq!(database.number(nonsense), 3);
    let too_fast = "INSERT INTO calibration (app, created_by, window_from, window_to, calibrated)
        SELECT app, created_by, window_from, window_to,
               jsonb_set(calibrated, '{speeds,7,tokens_per_second}', '5001')
        FROM calibration WHERE number = 2 RETURNING number";
    assert_eq!(database.number(too_fast), 4);
    for _ in 0..10 {
        pause();
    }
    for server in [&one, &two] {
        assert_eq!(calibration_of(&database, &ask(server)), 2);
    }
    for server in [one, two] {
        server.signal("TERM");
        let (status, log) = server.join();
        assert!(status.success());
        assert_eq!(lines(&log, "calibration taken up").len(), 2);
        let refused = lines(&log, "calibration refused; the old one stays");
        let mut numbers: Vec<u64> =
            refused.iter().map(|line| line["calibration"].as_u64().expect("a number")).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [3, 4], "{refused:?}");
    }
}

#[test]
fn without_postgres_it_lies_beside_the_log() {
    let (folder, simulator) = world(&[]);
    let nothing = run(folder.path(), &["calibrate"], &simulator, &[]);
    assert_eq!(nothing.code, Some(1));
    assert!(nothing.stderr.contains("no latency log"), "{}", nothing.stderr);
    let server = serve(folder.path(), &simulator, &[]);
    ask_often(&server, ANSWERS);
    let answered = || {
        let shown = run(folder.path(), &["calibrate", "--json"], &simulator, &[]);
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap_or_default();
        shown[0]["answered"] == ANSWERS
    };
    until("writing", answered);
    let applied = run(folder.path(), &["calibrate", "--apply", "--json"], &simulator, &[]);
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    let applied: Value = serde_json::from_str(&applied.stdout).expect("JSON");
    let proposal = &applied[0];
    assert_eq!(proposal["applied"], 1, "{proposal}");
    let sum: u64 = proposal["stages"]
        .as_array()
        .expect("three stages")
        .iter()
        .map(|line| line["proposed_ms"].as_u64().expect("a time"))
        .sum();
    assert!(sum + 50 <= proposal["values"]["total_ms"].as_u64().expect("a time"), "{proposal}");
    let again = || {
        let shown = run(folder.path(), &["calibrate", "--json"], &simulator, &[]);
        let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
        shown[0]["calibration"] == 1
    };
    until("being in force", again);
    // Long enough for the server to have looked.
    for _ in 0..10 {
        pause();
    }
    server.signal("TERM");
    let (status, log) = server.join();
    assert!(status.success());
    assert_eq!(lines(&log, "calibration taken up").len(), 1, "{log:?}");
}
