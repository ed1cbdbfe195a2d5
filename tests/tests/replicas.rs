//! Several servers over one Postgres and one Qdrant (a stand-in), each with a data directory of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use system_tests::{Database, Gate, Server, StandIn, get, kiwari_with, post, start};
use tempfile::TempDir;

/// How long a server may take for what it does within seconds, on a machine busy with other tests.
const SOON: Duration = Duration::from_secs(60);

const ARTICLES: usize = 12;

type Environment<'a> = [(&'a str, &'a str)];

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A help center each of whose sentences says which edition it is of.
fn write(folder: &Path, edition: u64) {
    let help = folder.join("help");
    fs::create_dir_all(&help).expect("a writable folder");
    for n in 0..ARTICLES {
        let text = format!(
            "# Export invoices of kind {n}\n\nTo export invoices of kind {n}, open Billing and press Export in \
             edition {edition}.\n\n## Formats\n\nInvoices of kind {n} come as files of edition {edition}.\n"
        );
        fs::write(help.join(format!("{n}.md")), text).expect("a writable folder");
    }
}

fn index(folder: &Path, edition: u64, environment: &Environment<'_>) -> Value {
    write(folder, edition);
    let indexed =
        kiwari_with(folder, &["index", "help", "--data-dir", "indexing", "--json"], environment);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
    serde_json::from_str(&indexed.stdout).expect("JSON")
}

fn ask(server: &Server, n: usize) -> Value {
    let question = format!("How do I export invoices of kind {}?", n % ARTICLES);
    let reply = post(&format!("{}/v1/answer", server.address), &json!({"question": question}), &[]);
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

fn generation(answer: &Value) -> u64 {
    answer["generation"].as_u64().expect("a number")
}

/// Every edition that is named anywhere in an answer.
fn editions(answer: &Value) -> BTreeSet<u64> {
    let text = answer.to_string();
    let named = text.split("edition ").skip(1);
    let digits =
        named.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    digits.map(|digits| digits.parse().expect("a number")).collect()
}

/// How a stage of an answer ended.
fn outcome<'a>(answer: &'a Value, stage: &str) -> &'a str {
    let stages = answer["stages"].as_array().expect("stages");
    let found = stages.iter().find(|report| report["stage"] == stage);
    found.and_then(|report| report["outcome"].as_str()).unwrap_or("absent")
}

/// Why an answer is less than it could be here, where no model writes.
fn reasons(answer: &Value) -> Vec<(String, String)> {
    let reasons = answer["reasons"].as_array().expect("reasons");
    let reasons = reasons.iter().filter(|reason| reason["reason"] != "no_generator");
    let text = |reason: &Value, key: &str| reason[key].as_str().unwrap_or_default().to_owned();
    reasons.map(|reason| (text(reason, "stage"), text(reason, "reason"))).collect()
}

#[expect(clippy::disallowed_methods, reason = "a test program of its own, not the runtime")]
fn pause(length: Duration) {
    thread::sleep(length);
}

/// How the server says that its vectors are.
fn vectors_state(server: &Server) -> String {
    let health = get(&format!("{}/health", server.address)).json();
    health["vectors"]["state"].as_str().unwrap_or_else(|| panic!("{health}")).to_owned()
}

/// Waits until `what` is so.
#[track_caller]
fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = SystemTime::now();
    while !is_so() {
        let waited = start.elapsed().unwrap_or_default();
        assert!(waited < SOON, "still not so after {waited:?}: {what}");
        pause(Duration::from_millis(50));
    }
}

#[track_caller]
fn reaches(server: &Server, number: u64) {
    soon(&format!("generation {number}"), || generation(&ask(server, 0)) == number);
}

/// What was answered under load: which editions with which generations, and why answers were less than full.
#[derive(Default)]
struct Seen {
    editions: BTreeMap<u64, BTreeSet<u64>>,
    mixed: Vec<Value>,
    answers: usize,
    with_vectors: usize,
    reasons: BTreeSet<(String, String)>,
}

impl Seen {
    fn note(&mut self, answer: &Value) {
        let editions = editions(answer);
        if editions.len() != 1 {
            self.mixed.push(answer.clone());
        }
        self.editions.entry(generation(answer)).or_default().extend(editions);
        self.answers += 1;
        self.with_vectors += usize::from(outcome(answer, "vector") == "ok");
        self.reasons.extend(reasons(answer));
    }
}

fn ask_until(stop: &AtomicBool, server: &Server, seen: &Mutex<Seen>) {
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let answer = ask(server, n);
        seen.lock().expect("nobody panics").note(&answer);
    }
}

#[test]
fn no_request_sees_a_mixed_generation_and_a_killed_run_changes_nothing() {
    let Some(database) = Database::fresh() else { return };
    let qdrant = StandIn::start();
    let url = database.url();
    let environment = [("DATABASE_URL", url.as_str()), ("QDRANT_URL", qdrant.url.as_str())];
    let indexer = folder();
    let mut edition_of = BTreeMap::from([(1, 1)]);
    index(indexer.path(), 1, &environment);

    let folders = [folder(), folder()];
    let servers = folders.each_ref().map(|at| Server::start_with(at.path(), &[], &environment));
    servers.iter().for_each(|server| reaches(server, 1));
    let (stop, seen) = (AtomicBool::new(false), Mutex::new(Seen::default()));
    thread::scope(|scope| {
        // A failed assertion must not leave the others asking forever.
        let _stop = StopOnDrop(&stop);
        for server in &servers {
            (0..2).for_each(|_| drop(scope.spawn(|| ask_until(&stop, server, &seen))));
        }
        for edition in 2..=6 {
            let indexed = index(indexer.path(), edition, &environment);
            assert_eq!(indexed["generation"], edition);
            edition_of.insert(edition, edition);
        }
        servers.iter().for_each(|server| reaches(server, 6));
        for (edition, pause_ms) in (7..).zip([30, 120, 250, 400, 600, 900, 1300]) {
            write(indexer.path(), edition);
            let arguments = ["index", "help", "--data-dir", "indexing"];
            let mut run = start(indexer.path(), &arguments, &environment);
            pause(Duration::from_millis(pause_ms));
            run.kill().expect("it can be killed, ended or not");
            run.wait().expect("a child can be waited for");
            let newest = database.number("SELECT max(number) FROM catalog.generation");
            edition_of.entry(newest).or_insert(edition);
            servers.iter().for_each(|server| reaches(server, newest));
        }
        let last =
            index(indexer.path(), 99, &environment)["generation"].as_u64().expect("a number");
        edition_of.insert(last, 99);
        servers.iter().for_each(|server| reaches(server, last));
    });

    let seen = seen.into_inner().expect("nobody panics");
    assert!(seen.mixed.is_empty(), "{:#?}", seen.mixed);
    for (generation, editions) in &seen.editions {
        let expected = BTreeSet::from_iter(edition_of.get(generation).copied());
        assert_eq!(*editions, expected, "generation {generation}");
    }
    assert!(seen.editions.len() >= 3, "{:?}", seen.editions.keys());
    assert!(seen.with_vectors > 0, "{} answers", seen.answers);
    // Slowness may be this machine's. A revision that was not there would be ours.
    let gone = ("vector".to_owned(), "unavailable".to_owned());
    assert!(!seen.reasons.contains(&gone), "{:?}", seen.reasons);
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn servers_start_while_the_services_are_away_and_pick_them_up() {
    let Some(database) = Database::fresh() else { return };
    let qdrant = StandIn::start();
    let [mut to_postgres, mut to_qdrant] = [Gate::to(&database.host()), Gate::to(qdrant.host())];
    let postgres_url = database.url_through(to_postgres.port);
    let qdrant_url = format!("http://127.0.0.1:{}", to_qdrant.port);
    let environment = [("DATABASE_URL", postgres_url.as_str()), ("QDRANT_URL", &qdrant_url)];
    let (indexer, known, new) = (folder(), folder(), folder());
    index(indexer.path(), 1, &environment);
    reaches(&Server::start_with(known.path(), &[], &environment), 1);

    to_postgres.shut();
    to_qdrant.shut();
    let known = Server::start_with(known.path(), &[], &environment);
    let answer = ask(&known, 3);
    assert_eq!((generation(&answer), editions(&answer)), (1, BTreeSet::from([1])));
    assert_eq!(reasons(&answer), [("vector".to_owned(), "error".to_owned())]);
    let new = Server::start_with(new.path(), &[], &environment);
    assert_eq!(get(&format!("{}/readyz", new.address)).status, 503);
    assert_eq!(get(&format!("{}/livez", new.address)).status, 200);
    let refused = kiwari_with(indexer.path(), &["index", "help", "--data-dir", "x"], &environment);
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);

    to_postgres.open();
    soon("ready", || get(&format!("{}/readyz", new.address)).status == 200);
    assert_eq!(outcome(&ask(&new, 4), "keyword"), "ok");
    to_qdrant.open();
    for server in [&known, &new] {
        soon("vectors again", || reasons(&ask(server, 5)).is_empty());
    }
    index(indexer.path(), 2, &environment);
    for server in [&known, &new] {
        reaches(server, 2);
        assert_eq!(editions(&ask(server, 6)), BTreeSet::from([2]));
    }
}

#[test]
fn a_qdrant_that_has_lost_everything_is_filled_by_the_next_run() {
    let Some(database) = Database::fresh() else { return };
    let mut qdrant = StandIn::start();
    let (url, qdrant_url) = (database.url(), qdrant.url.clone());
    let environment = [("DATABASE_URL", url.as_str()), ("QDRANT_URL", qdrant_url.as_str())];
    let (indexer, at) = (folder(), folder());
    index(indexer.path(), 1, &environment);
    let server = Server::start_with(at.path(), &[], &environment);
    reaches(&server, 1);
    assert_eq!(reasons(&ask(&server, 1)), []);

    qdrant.start_anew();
    let gone = [("vector".to_owned(), "unavailable".to_owned())];
    soon("vectors are gone", || reasons(&ask(&server, 2)) == gone);
    soon("that is known", || vectors_state(&server) == "away");
    let answer = ask(&server, 3);
    assert_eq!((generation(&answer), editions(&answer)), (1, BTreeSet::from([1])));
    // A server that starts now has nothing better.
    let other = folder();
    reaches(&Server::start_with(other.path(), &[], &environment), 1);
    let indexed = index(indexer.path(), 1, &environment);
    assert_eq!((&indexed["generation"], &indexed["unchanged"]), (&2.into(), &ARTICLES.into()));
    reaches(&server, 2);
    soon("vectors again", || reasons(&ask(&server, 4)).is_empty());
    soon("that is known", || vectors_state(&server) == "ok");
}

#[test]
fn what_is_on_record_is_taken_up_whatever_its_number() {
    let Some(database) = Database::fresh() else { return };
    let url = database.url();
    let environment = [("DATABASE_URL", url.as_str())];
    let (first, second, at) = (folder(), folder(), folder());
    index(first.path(), 1, &environment);
    index(first.path(), 2, &environment);
    let server = Server::start_with(at.path(), &[], &environment);
    reaches(&server, 2);

    database.replace();
    // What is loaded stays while nothing is on record.
    assert_eq!(editions(&ask(&server, 1)), BTreeSet::from([2]));
    index(second.path(), 7, &environment);
    reaches(&server, 1);
    for n in 0..ARTICLES {
        assert_eq!(editions(&ask(&server, n)), BTreeSet::from([7]));
    }
    // The other database's copies of the same number are not taken for this one's.
    index(second.path(), 8, &environment);
    reaches(&server, 2);
    for n in 0..ARTICLES {
        assert_eq!(editions(&ask(&server, n)), BTreeSet::from([8]));
    }
    // An earlier restore point of the same database.
    assert_eq!(
        database.number(
            "WITH gone AS (DELETE FROM catalog.generation WHERE number = 2 RETURNING 1),
                  passages AS (DELETE FROM catalog.passage WHERE from_generation = 2 RETURNING 1),
                  back AS (UPDATE catalog.passage SET until_generation = NULL WHERE until_generation = 2 RETURNING 1)
             SELECT count(*) FROM gone"
        ),
        1
    );
    reaches(&server, 1);
    assert_eq!(editions(&ask(&server, 3)), BTreeSet::from([7]));
    server.signal("TERM");
    let (status, log) = server.join();
    assert!(status.success());
    let said = |line: &&Value| line["message"].as_str().unwrap_or_default().contains("replaced");
    let numbers: Vec<_> =
        log.iter().filter(said).map(|line| (&line["in_use"], &line["generation"])).collect();
    assert_eq!(numbers, [(&2.into(), &1.into()), (&2.into(), &1.into())], "{log:#?}");
}

#[test]
fn without_qdrant_every_server_makes_its_vectors_from_the_catalog() {
    let Some(database) = Database::fresh() else { return };
    let url = database.url();
    let environment = [("DATABASE_URL", url.as_str())];
    let (indexer, at) = (folder(), folder());
    index(indexer.path(), 1, &environment);
    let server = Server::start_with(at.path(), &[], &environment);
    reaches(&server, 1);
    let again = index(indexer.path(), 1, &environment);
    assert_eq!((&again["published"], &again["embedded"]), (&false.into(), &0.into()));
    let indexed = index(indexer.path(), 2, &environment);
    assert_eq!(indexed["generation"], 2);
    reaches(&server, 2);
    let answer = ask(&server, 7);
    assert_eq!(outcome(&answer, "vector"), "ok", "{answer}");
    assert_eq!(editions(&answer), BTreeSet::from([2]));
    // The older generation's vectors go when no request can be on it any more.
    let passages =
        database.number("SELECT passages FROM catalog.generation ORDER BY number DESC LIMIT 1");
    soon("tidied up", || database.number("SELECT count(*) FROM catalog.vector") == passages);
    assert_eq!(database.number("SELECT count(*) FROM catalog.replica"), 1);
    server.signal("TERM");
    let (status, _) = server.join();
    assert!(status.success());
    assert_eq!(database.number("SELECT count(*) FROM catalog.replica"), 0);
    // Nothing of the indexing host's disk was needed.
    assert!(!indexer.path().join("indexing").exists());
}
