//! What the log says of the stages is what the responses said, and what the peer on the other side saw.
#![expect(clippy::print_stdout, reason = "the figures are what this is for")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::iter;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use system_tests::{Database, Server, Simulator, StandIn, get, kiwari_with, post};
use tempfile::TempDir;

/// A third of the field's latencies, and a budget that some requests need more than.
const SETTINGS: &str = r#"
[budget]
total = "1800ms"
reserve = "50ms"
embed = "210ms"
vector = "180ms"
generate = "270ms"
retrieval_cutoff = "600ms"
first_token_cutoff = "360ms"

[embed]
embedder = "gemini"

[generate]
lighter_model = "lighter-model"

[models."gemini-3.5-flash-lite"]
first_token = "120ms"
tokens_per_second = 500.0

[models."lighter-model"]
first_token = "72ms"
tokens_per_second = 500.0
"#;

const PAGES: [(&str, &str); 3] = [
    (
        "reset.md",
        "# Reset your password\n\nOpen Settings and choose Reset password. A link arrives by mail.\n",
    ),
    (
        "refund.md",
        "# Refunds\n\nAsk for a refund within fourteen days. The money is back within a week.\n",
    ),
    (
        "export.md",
        "# Export photos\n\nOpen the album, choose Export and pick a folder for your photos.\n",
    ),
];

const QUESTIONS: &str =
    "How do I reset my password?\nHow do I get a refund?\nHow do I export photos?\n";

/// The whole production stack, with stand-ins for what is not Postgres.
struct World {
    server: Server,
    simulator: Simulator,
    folder: TempDir,
    _vectors: StandIn,
    database: Database,
}

impl World {
    fn start() -> Option<Self> {
        let database = Database::fresh()?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("a writable folder");
        };
        std::fs::create_dir(folder.path().join("help")).expect("a writable folder");
        PAGES.iter().for_each(|(name, page)| write(&format!("help/{name}"), page));
        write("kiwari.toml", SETTINGS);
        write("questions.txt", QUESTIONS);
        let vectors = StandIn::start();
        let luck = ["--profile", "field", "--time-scale", "0.3", "--lighter", "lighter-model"];
        let simulator = Simulator::start(folder.path(), &luck);
        let url = database.url();
        let mut environment = vec![("DATABASE_URL", url.as_str()), ("QDRANT_URL", &vectors.url)];
        environment.extend(simulator.as_gemini());
        let index = ["index", "help", "--data-dir", "data"];
        let indexed = kiwari_with(folder.path(), &index, &environment);
        assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
        simulator.clear_journal();
        let delays = ["--delay-vectors", "field:1:0.3"];
        let server = Server::start_with(folder.path(), &delays, &environment);
        Some(Self { server, simulator, folder, _vectors: vectors, database })
    }

    /// What `kiwari bench` keeps of each of its requests.
    fn bench(&self, more: &[&str]) -> Vec<Value> {
        let mut arguments =
            vec!["bench", "--url", &self.server.address, "--requests", "requests.jsonl"];
        arguments.extend(["--questions", "questions.txt", "--json"]);
        arguments.extend(more);
        let bench = kiwari_with(self.folder.path(), &arguments, &[]);
        let lines = std::fs::read_to_string(self.folder.path().join("requests.jsonl"));
        let lines = lines.unwrap_or_else(|error| panic!("{error}: {}", bench.stderr));
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Searches, as `bench` keeps answers.
    fn search(&self, count: usize) -> Vec<Value> {
        let url = format!("{}/v1/search", self.server.address);
        let mut questions = QUESTIONS.lines().cycle();
        let mut ask = || {
            let found = post(&url, &json!({"question": questions.next()}), &[]);
            assert_eq!(found.status, 200, "{}", found.text);
            found.json()
        };
        (0..count).map(|_| ask()).collect()
    }

    /// Asks, and goes away once the question is being embedded.
    fn leave(&self, name: &str, stream: bool, during: &str) {
        let host = self.server.address.trim_start_matches("http://");
        let body = json!({"question": "How do I get a refund?", "stream": stream}).to_string();
        let head = format!(
            "POST /v1/answer HTTP/1.1\r\nhost: {host}\r\nx-request-id: {name}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let called = || self.simulator.summary()[during].as_u64();
        let before = called();
        let mut connection = TcpStream::connect(host).expect("the server listens");
        connection.write_all((head + &body).as_bytes()).expect("the server reads");
        assert!((0..5000).any(|_| {
            pause(Duration::from_millis(1));
            called() > before
        }));
    }

    /// Stops the server, which sends off what it has; its log.
    fn end(self) -> (Vec<Value>, Database) {
        self.server.signal("TERM");
        let (status, log) = self.server.join();
        assert!(status.success(), "{status}");
        (log, self.database)
    }
}

#[expect(clippy::disallowed_methods, reason = "there is no executor here to block")]
fn pause(duration: Duration) {
    thread::sleep(duration);
}

/// What an exchange with the simulator costs where nothing is simulated: it is in every difference between what the
/// server and what the simulator saw, and on a busy machine it is most of it.
struct Exchanges {
    over: Arc<AtomicBool>,
    asking: JoinHandle<Vec<f64>>,
}

impl Exchanges {
    fn with(simulator: &Simulator) -> Self {
        let over = Arc::<AtomicBool>::default();
        let (stop, url) = (Arc::clone(&over), format!("{}/admin/summary", simulator.address));
        let exchange = move || {
            pause(Duration::from_millis(5));
            let before = SystemTime::now();
            assert_eq!(get(&url).status, 200);
            before.elapsed().unwrap_or_default().as_secs_f64() * 1000.0
        };
        let asking = thread::spawn(move || {
            iter::repeat_with(exchange).take_while(|_| !stop.load(Ordering::Relaxed)).collect()
        });
        Self { over, asking }
    }

    /// Half and a twentieth took longer, in milliseconds; and the most that any took: the slowest hundredth of so few
    /// requests is a handful.
    fn p50_p95_most(self) -> [f64; 3] {
        self.over.store(true, Ordering::Relaxed);
        let took = self.asking.join().expect("it does not panic");
        let [p50, p95, _] = p50_p95_p99(&took);
        [p50, p95, took.into_iter().fold(0.0, f64::max)]
    }
}

/// Milliseconds by endpoint and stage.
type Times = BTreeMap<(String, String), Vec<f64>>;

/// What the responses themselves say of the stages that ran.
fn told(endpoint: &str, responses: &[Value], times: &mut Times) {
    for stage in
        responses.iter().flat_map(|response| response["stages"].as_array().expect("stages"))
    {
        if stage["outcome"] != "skipped" {
            let key = (endpoint.to_owned(), stage["stage"].as_str().expect("a name").to_owned());
            times.entry(key).or_default().push(stage["ms"].as_f64().expect("a time"));
        }
    }
}

/// Nearest rank.
fn p50_p95_p99(times: &[f64]) -> [f64; 3] {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    [50, 95, 99].map(|hundredths| sorted[(sorted.len() * hundredths).div_ceil(100) - 1])
}

/// How many there are, and the three percentiles.
type Row = (usize, [f64; 3]);

/// The report by endpoint and stage, as a person reads it.
fn reported(database: &Database) -> BTreeMap<(String, String), Row> {
    let sql = "SELECT endpoint, stage, n, p50_ms, p95_ms, p99_ms
        FROM report.stage_latency(now() - interval '1 day') WHERE per = 'window' AND is_exact";
    let row = |line: &String| {
        let cells: Vec<&str> = line.split('|').collect();
        let [endpoint, stage, n, p50, p95, p99] = cells[..] else { panic!("{line}") };
        let times = [p50, p95, p99].map(|time| time.parse().expect("a time"));
        ((endpoint.to_owned(), stage.to_owned()), (n.parse().expect("a count"), times))
    };
    database.rows(sql).iter().map(row).collect()
}

/// From the first call's start to the last one's end, in milliseconds, as the simulator saw it: by stage, each request
/// once.
fn seen(journal: &[Value], answers: &[Value]) -> BTreeMap<String, Vec<f64>> {
    let names: BTreeSet<&str> = answers.iter().map(|answer| text(answer, "name")).collect();
    let mut spans: BTreeMap<(&str, &str), (f64, f64)> = BTreeMap::new();
    for call in journal.iter().filter(|call| names.contains(text(call, "key"))) {
        let began = call["started_ms"].as_f64().expect("a moment");
        let over = ["ended_ms", "client_gone_ms"].iter().find_map(|end| call[end].as_f64());
        let over = over.unwrap_or_else(|| panic!("still under way: {call}"));
        let span = spans.entry((text(call, "kind"), text(call, "key"))).or_insert((began, over));
        *span = (span.0.min(began), span.1.max(over));
    }
    let mut by_stage = BTreeMap::new();
    for ((stage, _), (began, over)) in spans {
        by_stage.entry(stage.to_owned()).or_insert_with(Vec::new).push(over - began);
    }
    by_stage
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}"))
}

#[test]
fn the_report_from_psql_is_what_the_responses_said_and_what_the_peer_saw() {
    let Some(world) = World::start() else { return };
    let exchanges = Exchanges::with(&world.simulator);
    let plain = world.bench(&["--rate", "25", "--count", "300"]);
    let streamed = world.bench(&["--rate", "25", "--count", "100", "--seed", "2", "--stream"]);
    let exchanges = exchanges.p50_p95_most();
    let searches = world.search(40);
    for n in 0..10 {
        let during = if n < 5 { "embed_calls" } else { "generate_calls" };
        world.leave(&format!("gone-{n}"), n % 2 == 0, during);
    }
    assert!(world.simulator.settles_within(Duration::from_secs(30)));
    let journal = world.simulator.journal();
    let (log, database) = world.end();
    let answers = [plain, streamed].concat();

    check_rows(&database, &answers, &searches);
    check_those_who_left(&log, &journal, &database);
    let reported = reported(&database);
    let mut times = Times::new();
    told("answer", &answers, &mut times);
    told("search", &searches, &mut times);
    let told: BTreeMap<_, Row> = times
        .into_iter()
        .map(|(stage, times)| (stage, (times.len(), p50_p95_p99(&times))))
        .collect();
    assert_eq!(reported, told);

    let seen = seen(&journal, &answers);
    assert_eq!(seen.keys().collect::<Vec<_>>(), ["embed", "generate"]);
    for (stage, times) in &seen {
        let (n, reported) = reported[&("answer".to_owned(), stage.clone())];
        assert_eq!(n, times.len(), "{stage}");
        let seen = p50_p95_p99(times);
        println!(
            "{stage}: {reported:?} ms reported, {seen:?} ms seen; an exchange takes {exchanges:?} ms"
        );
        for ((reported, seen), exchange) in reported.into_iter().zip(seen).zip(exchanges) {
            let allowed = (0.02 * seen).max(3.0) + exchange;
            assert!((reported - seen).abs() <= allowed, "{stage}: {reported} {seen} {allowed}");
        }
    }
}

/// Every response has its rows, and every row its response, but for those who went away.
fn check_rows(database: &Database, answers: &[Value], searches: &[Value]) {
    let responses: BTreeSet<String> =
        answers.iter().chain(searches).map(|response| text(response, "id").to_owned()).collect();
    let rows = database.rows("SELECT request_id FROM request_log WHERE kind <> 'abandoned'");
    assert_eq!(rows.len(), answers.len() + searches.len());
    assert_eq!(rows.into_iter().collect::<BTreeSet<_>>(), responses);
    let streams =
        "SELECT count(*) FROM request_log WHERE streamed AND first_content_us <= spent_us";
    assert_eq!(database.number(streams), 100);
    let cut = "SELECT count(*) FROM stage_log WHERE outcome = 'cut'";
    assert!(database.number(cut) > 0, "with so much time this test says nothing of what is cut");
}

/// The log tells of them, their calls ended with them, and what those have cost is accounted for.
fn check_those_who_left(log: &[Value], journal: &[Value], database: &Database) {
    assert_eq!(log.iter().filter(|line| line["kind"] == "abandoned").count(), 10);
    let dropped = journal.iter().filter(|call| call["client_gone_ms"].is_f64());
    let left: BTreeSet<&str> =
        dropped.map(|call| text(call, "key")).filter(|key| key.starts_with("gone-")).collect();
    assert_eq!(left.len(), 10);
    let abandoned = "SELECT count(*) FROM request_log WHERE kind = 'abandoned'";
    assert_eq!(database.number(abandoned), 10);
    let written = journal
        .iter()
        .filter(|call| text(call, "kind") == "generate" && text(call, "key").starts_with("gone-"));
    let calls = database.number(
        "SELECT count(*) FROM call_log JOIN request_log USING (request_id) WHERE kind = 'abandoned'",
    );
    assert!(calls >= 5, "nobody left while a model was writing");
    assert_eq!(usize::try_from(calls).expect("a count"), written.count());
    let shares =
        "SELECT n FROM report.answer_kinds(now() - interval '1 day') WHERE kind = 'abandoned'";
    assert_eq!(database.number(shares), 10);
}
