//! What the tests of the log share: entries, and a Postgres database each.
#![allow(dead_code, reason = "each test program uses some of this")]

pub(crate) mod proxy;

use std::time::{Duration, SystemTime};

use deadline::{Deadline, Minimums};
use domain::{Degradation, Language, Outcome, Reason, Stage, StageReport, Usage};
use fastrand::Rng;
use ledger::{
    CallEntry, CallFate, Counts, Entry, Ledger, Models, PgSettings, Recorder, Settings, StageEntry,
};
use sqlx::postgres::{PgPool, PgPoolOptions};
use uuid::Uuid;

/// A stage that had a second.
pub(crate) fn report(stage: Stage, outcome: Outcome, elapsed_us: u64) -> StageReport {
    StageReport {
        stage,
        outcome,
        started: Duration::ZERO,
        elapsed: Duration::from_micros(elapsed_us),
        budget: Duration::from_secs(1),
        reason: (outcome == Outcome::Cut).then_some(Reason::Timeout),
    }
}

/// A templated answer, received now, that lost its embedding to time.
pub(crate) fn entry(app: &str, stages: Vec<StageReport>) -> Entry {
    Entry {
        request_id: Uuid::now_v7(),
        client_request_id: Some("theirs".to_owned()),
        endpoint: "answer",
        app: app.parse().expect("a valid name"),
        segment: None,
        lang: Language::JAPANESE,
        received_at: SystemTime::now(),
        budget_requested: None,
        budget_total: Duration::from_secs(4),
        spent: Duration::from_micros(1234),
        streamed: false,
        first_content: Some(Duration::from_micros(1200)),
        kind: "templated",
        degraded: true,
        reasons: vec![Degradation {
            stage: Stage::Embed,
            reason: Reason::Timeout,
            budget: Duration::from_millis(700),
            elapsed: Duration::from_millis(700),
        }],
        model: None,
        generation: 3,
        calibration: 0,
        minimums: Minimums::REMOTE,
        trace: "{\"decisions\": []}".to_owned(),
        stages: stages.into_iter().map(StageEntry::from).collect(),
        calls: Vec::new(),
    }
}

/// A plain answer of one stage.
pub(crate) fn plain() -> Entry {
    entry("a", vec![report(Stage::Keyword, Outcome::Ok, 1000)])
}

/// An entry like those of a real day: every field drawn.
pub(crate) fn drawn(rng: &mut Rng, received_at: SystemTime) -> Entry {
    let is_search = rng.u8(0..4) == 0;
    let stages: Vec<StageReport> =
        Stage::ALL.into_iter().map(|stage| draw_stage(rng, stage)).collect();
    let reasons: Vec<Degradation> = stages
        .iter()
        .filter_map(|stage| {
            let reason = stage.reason?;
            Some(Degradation {
                stage: stage.stage,
                reason,
                budget: stage.budget,
                elapsed: stage.elapsed,
            })
        })
        .collect();
    let calls: Vec<CallEntry> =
        (1..=rng.u32(0..3)).map(|attempt| draw_call(rng, attempt)).collect();
    Entry {
        endpoint: if is_search { "search" } else { "answer" },
        segment: rng.bool().then(|| "evening".to_owned()),
        received_at,
        spent: Duration::from_micros(rng.u64(1000..4_100_000)),
        streamed: rng.bool(),
        first_content: (!is_search).then(|| Duration::from_micros(rng.u64(900..3_000_000))),
        kind: if is_search {
            "hits"
        } else {
            ["generated", "partial", "templated"][rng.usize(0..3)]
        },
        degraded: reasons.iter().any(|reason| reason.reason.degrades()),
        model: Some(Models { requested: "large".to_owned(), served: "small".to_owned() }),
        reasons,
        calls,
        stages: stages.into_iter().map(StageEntry::from).collect(),
        ..entry(["docs", "shop"][rng.usize(0..2)], vec![])
    }
}

fn draw_stage(rng: &mut Rng, stage: Stage) -> StageReport {
    let outcome = match rng.u8(0..20) {
        0..14 => Outcome::Ok,
        14..16 => Outcome::Skipped,
        16..18 => Outcome::Cut,
        _ => Outcome::Failed,
    };
    let reason = match outcome {
        Outcome::Ok => None,
        Outcome::Skipped => {
            [None, Some(Reason::SkippedBudget), Some(Reason::NoGenerator)][rng.usize(0..3)]
        }
        Outcome::Cut => Some(Reason::Timeout),
        Outcome::Failed => Some(Reason::Error),
    };
    let elapsed_us = if outcome == Outcome::Skipped { 0 } else { rng.u64(1..2_000_000) };
    StageReport { reason, ..report(stage, outcome, elapsed_us) }
}

fn draw_call(rng: &mut Rng, attempt: u32) -> CallEntry {
    CallEntry {
        model: ["large", "small"][rng.usize(0..2)].to_owned(),
        attempt,
        started: Duration::from_micros(rng.u64(0..1_000_000)),
        elapsed: Duration::from_micros(rng.u64(0..3_000_000)),
        first_token: rng.bool().then(|| Duration::from_micros(rng.u64(0..1_000_000))),
        fate: [
            CallFate::Used,
            CallFate::Replaced,
            CallFate::Lost(Reason::Error),
            CallFate::Abandoned,
        ][rng.usize(0..4)],
        usage: rng.bool().then(|| Usage {
            input_tokens: rng.u64(100..2000),
            cached_tokens: rng.u64(0..100),
            output_tokens: rng.u64(1..500),
            thinking_tokens: rng.u64(0..50),
        }),
        cost_micros: rng.bool().then(|| rng.u64(1..5000)),
    }
}

/// A database of the test's own.
#[derive(Debug)]
pub(crate) struct Database {
    server: String,
    name: String,
    pub(crate) pool: PgPool,
}

impl Database {
    /// A new, empty database; `None`, and a word about it, where there is no Postgres to test with.
    #[expect(clippy::print_stderr, reason = "what is not tested should be seen")]
    pub(crate) async fn fresh() -> Option<Self> {
        let Some(server) = std::env::var_os("KIWARI_TEST_DATABASE_URL") else {
            eprintln!(
                "skipped: KIWARI_TEST_DATABASE_URL is not set; scripts/postgres-for-tests prints one"
            );
            return None;
        };
        let server = server.into_string().expect("an address is plain text");
        let name = format!("kiwari_test_{}", Uuid::now_v7().simple());
        execute_on(&server, format!("CREATE DATABASE {name}")).await;
        let pool = PgPoolOptions::new()
            .max_connections(2)
            .connect(&address(&server, &name))
            .await
            .expect("a new database takes connections");
        Some(Self { server, name, pool })
    }

    pub(crate) fn url(&self) -> String {
        address(&self.server, &self.name)
    }

    /// Host and port of the server.
    pub(crate) fn host(&self) -> String {
        let rest = self.server.split_once('@').expect("user@host").1;
        rest.split('/').next().expect("host:port").to_owned()
    }

    /// Its address, as seen through a proxy on `port`.
    pub(crate) fn url_through(&self, port: u16) -> String {
        self.url().replace(&self.host(), &format!("127.0.0.1:{port}"))
    }

    pub(crate) fn settings(&self) -> PgSettings {
        PgSettings::new(&self.url()).expect("a test's address is one")
    }

    pub(crate) async fn migrated(&self) {
        ledger::postgres::migrate(&self.settings()).await.expect("a new database takes migrations");
    }

    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&self.pool).await.expect("a number")
    }

    pub(crate) async fn execute(&self, sql: &'static str) {
        sqlx::query(sql).execute(&self.pool).await.expect("a statement that runs");
    }

    /// Every request is there once, with as many stages as were sent; gives how many there are.
    pub(crate) async fn requests(&self) -> i64 {
        let distinct = self.number("SELECT count(DISTINCT request_id) FROM request_log").await;
        assert_eq!(self.number("SELECT count(*) FROM request_log").await, distinct);
        distinct
    }

    pub(crate) async fn remove(self) {
        self.pool.close().await;
        execute_on(&self.server, format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

fn address(server: &str, database: &str) -> String {
    let (host, _) = server.rsplit_once('/').expect("an address with a database");
    format!("{host}/{database}")
}

async fn execute_on(server: &str, sql: String) {
    let pool = PgPoolOptions::new().max_connections(1).connect(server).await.expect("a server");
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&pool).await.expect("a statement that runs");
    pool.close().await;
}

pub(crate) fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(60))
}

/// Waits until the counts are as wanted.
pub(crate) async fn until(recorder: &Recorder, wanted: impl Fn(&Counts) -> bool) -> Counts {
    let waiting = async {
        loop {
            let counts = recorder.counts();
            if wanted(&counts) {
                return counts;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon().run(waiting).await.unwrap_or_else(|_| panic!("still {:?}", recorder.counts()))
}

/// Everything that was recorded has arrived in Postgres, or was let go.
pub(crate) fn is_empty(counts: &Counts) -> bool {
    counts.queued == counts.written && counts.outbox.is_some_and(|outbox| outbox.depth == 0)
}

/// Ships what lies at `path` to the database, and ends.
pub(crate) async fn ship(path: &std::path::Path, settings: PgSettings) -> Counts {
    let ledger =
        Ledger::start(path, Settings::STANDARD, Some(settings)).await.expect("the log opens");
    let recorder = ledger.recorder();
    until(&recorder, is_empty).await;
    ledger.close(soon()).await;
    recorder.counts()
}
