//! `kiwari doctor`: whatever is wrong is said in words of its own, nothing hangs, and no secret is shown.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use serde_json::Value;
use system_tests::{Database, Outcome, Server, Simulator, StandIn, kiwari_with};
use tempfile::TempDir;

/// In every key and password.
const SECRET: &str = "hunter2horse";

type Environment<'a> = &'a [(&'a str, &'a str)];

/// A folder with one page, and nothing indexed yet.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let help = folder.path().join("help");
    fs::create_dir(&help).expect("a writable folder");
    fs::write(help.join("a.md"), "# Export invoices\n\nOpen Billing and press Export.\n")
        .expect("a writable folder");
    folder
}

fn index(folder: &Path, environment: Environment<'_>) {
    let arguments = ["index", "help", "--data-dir", "data"];
    let indexed = kiwari_with(folder, &arguments, environment);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
}

fn indexed() -> TempDir {
    let folder = folder();
    index(folder.path(), &[]);
    folder
}

/// What the doctor said.
struct Said {
    code: Option<i32>,
    report: Value,
}

impl Said {
    /// The check `id` (of the first app), if it is there.
    fn find(&self, id: &str) -> Option<&Value> {
        let checks = self.report["checks"].as_array().expect("checks");
        checks.iter().find(|check| check["id"] == id)
    }

    #[track_caller]
    fn check(&self, id: &str) -> &Value {
        self.find(id).unwrap_or_else(|| panic!("no check {id}: {}", self.report))
    }

    #[track_caller]
    fn is(&self, id: &str, state: &str, part: &str) -> &Self {
        let check = self.check(id);
        assert_eq!(check["state"], state, "{check}");
        assert!(check.to_string().contains(part), "{part:?} is not in {check}");
        self
    }
}

fn look(folder: &Path, environment: Environment<'_>, more: &[&str]) -> Outcome {
    look_at(folder, "data", environment, more)
}

/// The same, of another data directory.
fn look_at(folder: &Path, dir: &str, environment: Environment<'_>, more: &[&str]) -> Outcome {
    // A port that nobody has, unless the test says otherwise.
    let environment = &[&[("KIWARI__SERVER__BIND", "127.0.0.1:9")], environment].concat();
    let arguments = [&["doctor", "--data-dir", dir], more].concat();
    let outcome = kiwari_with(folder, &arguments, environment);
    for said in [&outcome.stdout, &outcome.stderr] {
        assert!(!said.contains(SECRET), "{said}");
    }
    outcome
}

/// Looks, and makes sure that no secret is shown.
#[track_caller]
fn doctor(folder: &Path, environment: Environment<'_>) -> Said {
    doctor_of(folder, "data", environment)
}

/// The same, of another data directory.
#[track_caller]
fn doctor_of(folder: &Path, dir: &str, environment: Environment<'_>) -> Said {
    let outcome = look_at(folder, dir, environment, &["--json"]);
    let report = serde_json::from_str(&outcome.stdout).expect("JSON");
    Said { code: outcome.code, report }
}

#[test]
fn people_read_a_line_a_check_and_what_to_do_first() {
    let folder = indexed();
    let url = format!("postgres://kiwari:{SECRET}@127.0.0.1:{}/k", nobody());
    let environment = [("DATABASE_URL", &*url), ("QDRANT_API_KEY", SECRET)];
    let told = look(folder.path(), &environment, &[]);
    let said = doctor(folder.path(), &environment);
    assert_eq!((told.code, said.code), (Some(1), Some(1)));
    let lines: Vec<&str> = told.stdout.lines().collect();
    let [checks @ .., "", last] = &lines[..] else { panic!("{}", told.stdout) };
    assert_eq!(checks.len(), said.report["checks"].as_array().expect("checks").len());
    for line in checks {
        let state = line.split_whitespace().next().unwrap_or_default();
        assert!(["ok", "skipped", "warning", "failed"].contains(&state), "{line}");
    }
    let first = said.report["first"].as_str().expect("words");
    assert_eq!(*last, format!("Do this first: {first}"));
}

#[test]
fn where_all_is_well_it_says_so() {
    let folder = indexed();
    let said = doctor(folder.path(), &[]);
    assert_eq!(
        (said.code, &said.report["verdict"]),
        (Some(0), &Value::from("ok")),
        "{}",
        said.report
    );
    assert_eq!(said.report["first"], Value::Null);
    said.is("configuration", "ok", "data.dir = \\\"data\\\" (the command line)")
        .is("configuration.secrets", "ok", "set: none")
        .is("data.directory", "ok", "ours")
        .is("data.disk", "ok", "free")
        .is("data.log", "ok", "none yet")
        .is("postgres.server", "ok", "not set")
        .is("qdrant.server", "ok", "not set")
        .is("index.catalog", "ok", "one app")
        .is("index.generation", "ok", "1 article, 1 passage")
        .is("index.search", "ok", "")
        .is("index.embedder", "ok", "local/")
        .is("models.answering", "ok", "no key is set")
        .is("calibration", "ok", "none")
        .is("clock.system", "ok", "Z")
        .is("server", "ok", "none runs");
    assert!(said.check("index.search")["ms"].is_number());
    let app = &said.check("index.generation")["app"];
    assert_eq!(app, "default");
}

#[test]
fn where_nothing_is_indexed_it_says_what_to_do_first() {
    let folder = folder();
    let said = doctor(folder.path(), &[]);
    assert_eq!(said.code, Some(1));
    said.is("data.directory", "failed", "is not there").is(
        "index.catalog",
        "failed",
        "kiwari index",
    );
    let first = said.report["first"].as_str().expect("words");
    assert!(first.starts_with("data directory: ") && first.contains("kiwari index"), "{first}");
    assert!(!folder.path().join("data").exists(), "looking makes nothing");
}

#[test]
fn settings_that_cannot_be_used_are_all_there_is_to_tell() {
    let folder = folder();
    let said = doctor(folder.path(), &[("KIWARI__BUDGET__EMBED", "5s")]);
    assert_eq!(said.code, Some(64));
    said.is("configuration", "failed", "embed 5000");
    let said = doctor(folder.path(), &[("DATABASE_URL", "mysql://u:hunter2horse@h/d")]);
    said.is("configuration", "failed", "DATABASE_URL");
    fs::write(folder.path().join("kiwari.toml"), "[budget]\ntotl = \"3s\"\n").expect("writable");
    doctor(folder.path(), &[]).is("configuration", "failed", "did you mean budget.total?");
}

#[test]
fn settings_that_do_not_do_what_they_seem_to_are_told() {
    let folder = indexed();
    fs::write(folder.path().join("kiwari.toml"), "[budget]\nretrieval_cutoff = \"9s\"\n")
        .expect("writable");
    let said = doctor(folder.path(), &[("QDRANT_API_KEY", SECRET)]);
    assert_eq!((said.code, &said.report["verdict"]), (Some(0), &Value::from("warning")));
    said.is("configuration", "ok", "budget.retrieval_cutoff = \\\"9s\\\" (kiwari.toml)")
        .is("configuration.secrets", "ok", "set: QDRANT_API_KEY;")
        .is("configuration.contradiction", "warning", "retrieval_cutoff is 9s");
}

#[test]
fn a_data_directory_that_cannot_be_used_is_told() {
    let folder = folder();
    let data = folder.path().join("data");
    fs::write(&data, "no folder").expect("writable");
    doctor(folder.path(), &[]).is("data.directory", "failed", "is a file");

    fs::remove_file(&data).expect("ours");
    index(folder.path(), &[]);
    fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).expect("ours");
    doctor(folder.path(), &[]).is("data.directory", "warning", "chmod o-w");

    fs::write(data.join("ledger.sqlite"), "no log at all, but a file of some length")
        .expect("ours");
    let generation = data.join("generations/default/1");
    fs::remove_dir_all(&generation).expect("ours");
    let said = doctor(folder.path(), &[]);
    assert_eq!(said.code, Some(1));
    said.is("data.log", "failed", "ledger.sqlite")
        .is("index.generation", "failed", "does not open")
        .is("index.search", "skipped", "does not open");

    fs::write(data.join("catalog.sqlite"), "no catalog, but a file of some length").expect("ours");
    doctor(folder.path(), &[]).is("index.catalog", "failed", "catalog.sqlite");
}

#[test]
fn a_data_directory_that_could_not_be_made_is_told() {
    let folder = folder();
    for dir in ["/proc/nope", "/proc/nope/deeper", "/dev/null/data"] {
        let said = doctor_of(folder.path(), dir, &[]);
        assert_eq!(said.code, Some(1));
        said.is("data.directory", "failed", "cannot be");
        let url = format!("postgres://kiwari:{SECRET}@127.0.0.1:{}/k", nobody());
        doctor_of(folder.path(), dir, &[("DATABASE_URL", &url)]).is(
            "data.directory",
            "failed",
            "cannot be",
        );
    }
    let url = format!("postgres://kiwari:{SECRET}@127.0.0.1:{}/k", nobody());
    let said = doctor_of(folder.path(), "not/yet", &[("DATABASE_URL", &url)]);
    said.is("data.directory", "ok", "makes it");
    assert!(!folder.path().join("not").exists(), "looking makes nothing");
}

/// A service of the test's own on a port of its own: `serve` has each connection.
fn service(serve: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(serve));
    port
}

/// Takes connections and never says a word.
fn silence() -> u16 {
    let kept = std::sync::Mutex::new(Vec::new());
    service(move |stream| kept.lock().expect("nobody panics").push(stream))
}

/// Answers whatever is asked over HTTP/1.1 with `reply`.
fn http(status: &'static str, headers: &'static str, body: &'static str) -> u16 {
    service(move |mut stream| {
        let mut asked = [0; 4096];
        let _read = stream.read(&mut asked);
        let length = body.len();
        let _sent = write!(
            stream,
            "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
    })
}

/// A port that nobody listens on.
fn nobody() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|bound| bound.local_addr())
        .expect("a free port")
        .port()
}

/// A Postgres that takes nobody in, for the reason `code`.
fn refusing_postgres(code: &'static str) -> u16 {
    service(move |mut stream| {
        let mut asked = [0; 4096];
        // First whether it speaks TLS, which it does not, and then who is there.
        let _read = stream.read(&mut asked);
        let _sent = stream.write_all(b"N");
        let _read = stream.read(&mut asked);
        let fields = format!("SFATAL\0VFATAL\0C{code}\0Mrefused as told\0\0");
        let length = u32::try_from(fields.len() + 4).expect("short");
        let _sent =
            stream.write_all(&[b"E", &length.to_be_bytes()[..], fields.as_bytes()].concat());
    })
}

#[track_caller]
fn postgres_fails(url: &str, part: &str) {
    let folder = folder();
    let said = doctor(folder.path(), &[("DATABASE_URL", url)]);
    assert_eq!(said.code, Some(1));
    said.is("postgres.server", "failed", part)
        .is("postgres.migrations", "skipped", "")
        .is("index.catalog", "skipped", "Postgres")
        .is("calibration", "skipped", "Postgres");
    let first = said.report["first"].as_str().expect("words");
    assert!(first.starts_with("postgres server: "), "{first}");
}

#[test]
fn why_postgres_takes_nobody_in_is_told_apart() {
    let at = |port: u16| format!("postgres://kiwari:{SECRET}@127.0.0.1:{port}/k");
    postgres_fails(&at(nobody()), "nobody listens there");
    postgres_fails(&at(silence()), "no answer in time");
    postgres_fails(&at(http("400 Bad Request", "", "")), "does not speak Postgres' protocol");
    for (code, part) in [
        ("28P01", "the password is wrong"),
        ("28000", "pg_hba.conf"),
        ("3D000", "createdb"),
        ("53300", "max_connections"),
        ("57P03", "starting or stopping"),
    ] {
        postgres_fails(&at(refusing_postgres(code)), part);
    }
    let insisting = format!("{}?sslmode=require", at(refusing_postgres("28P01")));
    postgres_fails(&insisting, "sslmode in DATABASE_URL insists on");
    let nowhere = format!("postgres://kiwari:{SECRET}@no-such-host.invalid/k");
    postgres_fails(&nowhere, "no host of that name");
}

#[test]
fn what_postgres_lacks_is_told_and_a_database_that_is_not_there() {
    let Some(database) = Database::fresh() else { return };
    let url = database.url();
    postgres_fails(&format!("{url}_not"), "there is no such database");

    let folder = folder();
    let by_hand = [("DATABASE_URL", &*url), ("KIWARI__DATABASE__MIGRATE_AT_START", "false")];
    let said = doctor(folder.path(), &by_hand);
    assert_eq!(said.code, Some(1));
    said.is("postgres.server", "ok", "without TLS")
        .is("postgres.migrations", "failed", "kiwari migrate")
        .is("index.catalog", "failed", "not there, or of an older version")
        .is("clock.postgres", "ok", "ours");
    let said = doctor(folder.path(), &[("DATABASE_URL", &*url)]);
    said.is("postgres.migrations", "warning", "0001");
    let none = database.number("SELECT count(*) FROM pg_tables WHERE schemaname = 'catalog'");
    assert_eq!(none, 0, "looking migrates nothing");

    let environment = [("DATABASE_URL", &*url)];
    assert_eq!(kiwari_with(folder.path(), &["migrate"], &environment).code, Some(0));
    index(folder.path(), &environment);
    let said = doctor(folder.path(), &environment);
    said.is("postgres.migrations", "ok", "up to date")
        .is("postgres.partitions", "ok", "none yet")
        .is("postgres.log", "ok", "no request")
        .is("index.generation", "warning", "has not built its copy")
        .is("index.servers", "ok", "no server");
    assert_eq!(said.code, Some(0));

    let changed = |sql: &str| assert_eq!(database.number(sql), 1);
    changed("SELECT count(ledger_make_day(current_date - 3))");
    changed(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'of later', true, '', 0) RETURNING 1",
    );
    changed(
        "INSERT INTO calibration (app, created_at, created_by, window_from, window_to, calibrated)
         VALUES ('default', now(), 'test', now(), now(), '{}') RETURNING 1",
    );
    doctor(folder.path(), &environment)
        .is("postgres.migrations", "warning", "newer Kiwari")
        .is("postgres.partitions", "warning", "none for today")
        .is("calibration", "warning", "number 1 cannot be used");
}

#[test]
fn a_role_that_may_make_nothing_is_told_what_to_ask_for() {
    let Some(database) = Database::fresh() else { return };
    let folder = folder();
    let name = database.rows("SELECT current_database()").concat();
    let role = format!("{name}_guest");
    let _role = Role::new(&database, &role);
    let url = database.url_as(&role, SECRET);
    let said = doctor(folder.path(), &[("DATABASE_URL", &url)]);
    assert_eq!(said.code, Some(1));
    said.is("postgres.server", "ok", "").is(
        "postgres.migrations",
        "failed",
        &format!("GRANT USAGE, CREATE ON SCHEMA \\\"public\\\" TO \\\"{role}\\\""),
    );
    let granted = format!("GRANT USAGE, CREATE ON SCHEMA public TO {role}");
    assert_eq!(database.rows(&granted), [""; 0]);
    let said = doctor(folder.path(), &[("DATABASE_URL", &url)]);
    said.is("postgres.migrations", "failed", "GRANT CREATE ON DATABASE");
    let granted = format!("GRANT CREATE ON DATABASE {name} TO {role}");
    assert_eq!(database.rows(&granted), [""; 0]);
    let said = doctor(folder.path(), &[("DATABASE_URL", &url)]);
    said.is("postgres.migrations", "warning", "whatever writes first applies them");
    // What was advised is enough.
    let migrated = kiwari_with(folder.path(), &["migrate"], &[("DATABASE_URL", &url)]);
    assert_eq!(migrated.code, Some(0), "{}", migrated.stderr);
    doctor(folder.path(), &[("DATABASE_URL", &url)]).is("postgres.migrations", "ok", "up to date");
}

/// A role that owns nothing, for as long as it is used.
struct Role<'a> {
    database: &'a Database,
    name: &'a str,
}

impl<'a> Role<'a> {
    fn new(database: &'a Database, name: &'a str) -> Self {
        let made = format!("CREATE ROLE {name} LOGIN PASSWORD '{SECRET}'");
        assert_eq!(database.rows(&made), [""; 0]);
        Self { database, name }
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        let gone = format!("DROP OWNED BY {0} CASCADE; DROP ROLE {0}", self.name);
        let _nothing = self.database.rows(&gone);
    }
}

#[test]
fn a_server_that_runs_is_seen_and_what_it_ships() {
    let Some(database) = Database::fresh() else { return };
    let (folder, url) = (folder(), database.url());
    let environment = [("DATABASE_URL", &*url)];
    index(folder.path(), &environment);
    let server = Server::start_with(folder.path(), &[], &environment);
    let bind = server.address.trim_start_matches("http://");
    let said = doctor(folder.path(), &[("DATABASE_URL", &*url), ("KIWARI__SERVER__BIND", bind)]);
    assert_eq!(said.code, Some(0), "{}", said.report);
    said.is("server", "ok", "is ready").is("index.generation", "ok", "opens here").is(
        "index.servers",
        "ok",
        "generation 1",
    );

    let other = format!("127.0.0.1:{}", http("200 OK", "", "hello"));
    doctor(folder.path(), &[("KIWARI__SERVER__BIND", &other)]).is(
        "server",
        "warning",
        "is no Kiwari",
    );
    let silent = format!("127.0.0.1:{}", silence());
    doctor(folder.path(), &[("KIWARI__SERVER__BIND", &silent)]).is(
        "server",
        "warning",
        "says nothing within",
    );
}

#[track_caller]
fn qdrant_fails(folder: &Path, environment: Environment<'_>, id: &str, part: &str) {
    let said = doctor(folder, environment);
    assert_eq!(said.code, Some(1));
    said.is(id, "failed", part).is("qdrant.vectors", "skipped", "").is(
        "index.search",
        "skipped",
        "",
    );
}

#[test]
fn what_is_wrong_with_qdrant_is_told_apart() {
    let folder = folder();
    let mut qdrant = StandIn::asking_for(SECRET);
    let url = qdrant.url.clone();
    let environment = [("QDRANT_URL", &*url), ("QDRANT_API_KEY", SECRET)];
    index(folder.path(), &environment);
    let said = doctor(folder.path(), &environment);
    assert_eq!(said.code, Some(0), "{}", said.report);
    said.is("qdrant.server", "ok", "stand-in")
        .is("qdrant.key", "ok", "")
        .is("qdrant.vectors", "ok", "all 1 are in Qdrant")
        .is("index.search", "ok", "");

    qdrant_fails(folder.path(), &[("QDRANT_URL", &url)], "qdrant.key", "QDRANT_API_KEY");
    let at = |port: u16| format!("http://127.0.0.1:{port}");
    let refused = at(nobody());
    qdrant_fails(
        folder.path(),
        &[("QDRANT_URL", &refused)],
        "qdrant.server",
        "nobody listens there",
    );
    let silent = at(silence());
    qdrant_fails(folder.path(), &[("QDRANT_URL", &silent)], "qdrant.server", "no answer within");
    let rest = at(http("404 Not Found", "", ""));
    qdrant_fails(folder.path(), &[("QDRANT_URL", &rest)], "qdrant.server", "6333 is REST");
    let tls = url.replace("http://", "https://");
    qdrant_fails(folder.path(), &[("QDRANT_URL", &tls)], "qdrant.server", "TLS");
    doctor(folder.path(), &[]).is("qdrant.vectors", "failed", "QDRANT_URL is not set");

    qdrant.start_anew();
    let said = doctor(folder.path(), &environment);
    assert_eq!(said.code, Some(1));
    said.is("qdrant.key", "ok", "").is("qdrant.vectors", "failed", "no collection");
}

#[test]
fn models_that_cannot_be_called_and_their_clocks_are_told() {
    let folder = indexed();
    let simulator = Simulator::start(folder.path(), &[]);
    let gemini = |base: String| {
        let environment = [("GEMINI_API_KEY", SECRET), ("GEMINI_BASE_URL", &*base)];
        doctor(folder.path(), &environment)
    };
    let said = gemini(simulator.address.clone());
    assert_eq!(said.code, Some(0), "{}", said.report);
    said.is("models.answering", "ok", "takes our key").is("clock.models", "ok", "ours");
    assert!(said.check("models.answering")["ms"].is_number());

    let at = |port: u16| format!("http://127.0.0.1:{port}");
    gemini(at(nobody())).is("models.answering", "failed", "no connection");
    gemini(at(silence())).is("models.answering", "failed", "no answer in time");
    gemini(at(http("401 Unauthorized", "", "{}"))).is(
        "models.answering",
        "failed",
        "the key is wrong",
    );
    let said = gemini(at(http("200 OK", "date: Thu, 01 Jan 2026 00:00:00 GMT\r\n", "{}")));
    said.is("clock.models", "warning", "ahead of the model API's").is(
        "clock.models",
        "warning",
        "NTP",
    );

    let nameless = [("OPENAI_API_KEY", SECRET)];
    doctor(folder.path(), &nameless).is("models.answering", "warning", "generate.model");
    // The index is looked at all the same.
    doctor(folder.path(), &[("KIWARI__GENERATE__PROVIDER", "gemini")])
        .is("models.answering", "failed", "GEMINI_API_KEY")
        .is("index.generation", "ok", "opens here");
}

#[test]
fn nothing_that_is_silent_holds_it_up_for_long() {
    let folder = folder();
    let qdrant = StandIn::start();
    index(folder.path(), &[("QDRANT_URL", &qdrant.url)]);
    let port = silence();
    let [base, database] =
        [format!("http://127.0.0.1:{port}"), format!("postgres://u:{SECRET}@127.0.0.1:{port}/k")];
    let bind = format!("127.0.0.1:{port}");
    let said = doctor(
        folder.path(),
        &[
            ("DATABASE_URL", &database),
            ("QDRANT_URL", &base),
            ("GEMINI_API_KEY", SECRET),
            ("GEMINI_BASE_URL", &base),
            ("KIWARI__SERVER__BIND", &bind),
        ],
    );
    assert_eq!(said.code, Some(1));
    for silent in ["postgres.server", "qdrant.server", "models.answering"] {
        said.is(silent, "failed", "no answer");
    }
    // Its limits add up to less than ten seconds; the rest is a busy machine's.
    let took_ms = said.report["took_ms"].as_f64().expect("a time");
    assert!(took_ms < 30_000.0, "{took_ms}");
}
