//! Every report, from both databases, over the same requests; and against figures worked out by hand.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::Outcome;
use fastrand::Rng;
use ledger::reports::{self, Cell, NAMES, Scope, Source, Table};
use ledger::{Entry, Store};
use tempfile::TempDir;

use crate::common::{Database, drawn, ship};

mod common;

const HOUR: Duration = Duration::from_secs(3600);

/// Some days of requests: old enough that no hour of theirs is the present one.
fn requests(seed: u64, count: usize) -> Vec<Entry> {
    let mut rng = Rng::with_seed(seed);
    let newest = SystemTime::now() - 2 * HOUR;
    (0..count)
        .map(|_| {
            let age = Duration::from_micros(rng.u64(0..3 * 86_400_000_000));
            drawn(&mut rng, newest - age)
        })
        .collect()
}

struct Both {
    _folder: TempDir,
    sqlite: Source,
    postgres: Source,
    database: Database,
}

impl Both {
    async fn holding(entries: &[Entry]) -> Option<Self> {
        let database = Database::fresh().await?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (kept, outbox) =
            (folder.path().join("kept.sqlite"), folder.path().join("outbox.sqlite"));
        let store = Store::open(&kept).await.expect("a new log opens");
        store.write(entries).await.expect("a healthy disk takes the batch");
        let shipped = Store::open(&outbox).await.expect("a new log opens");
        shipped.write(entries).await.expect("a healthy disk takes the batch");
        shipped.close().await;
        ship(&outbox, database.settings()).await;
        let postgres = Source::postgres(&database.settings());
        Some(Self { _folder: folder, sqlite: Source::Sqlite(store), postgres, database })
    }

    async fn end(self) {
        self.postgres.close().await;
        self.sqlite.close().await;
        self.database.remove().await;
    }
}

async fn run(source: &Source, name: &str, scope: Scope<'_>) -> Table {
    reports::run(source, name, scope).await.unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

/// Equal, but for the last bits of numbers.
fn assert_same(name: &str, one: &Table, other: &Table) {
    assert_eq!(one.columns, other.columns);
    assert_eq!(one.rows.len(), other.rows.len(), "{name}: {one:?} {other:?}");
    for (left, right) in one.rows.iter().zip(&other.rows) {
        let same = left.iter().zip(right).all(|cells| match cells {
            (Cell::Number(left), Cell::Number(right)) => (left - right).abs() <= 1e-9 * left.abs(),
            (left, right) => left == right,
        });
        assert!(same, "{name}: {left:?} {right:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_databases_report_the_same() {
    let entries = requests(1, 1500);
    let Some(both) = Both::holding(&entries).await else { return };
    let ages = [Duration::from_secs(90 * 86_400), 30 * HOUR, 20 * HOUR + Duration::from_secs(1234)];
    for name in NAMES {
        for age in ages {
            for app in [None, Some("shop"), Some("nobody")] {
                let scope = Scope { since: SystemTime::now() - age, app, per: None };
                let table = run(&both.sqlite, name, scope).await;
                assert_same(name, &table, &run(&both.postgres, name, scope).await);
                assert_eq!(table.rows.is_empty(), app == Some("nobody"), "{name}");
            }
        }
    }
    for (name, per) in [("stage_latency", "hour"), ("stage_latency", "day"), ("slo", "window")] {
        let scope = Scope { since: SystemTime::now() - 40 * HOUR, app: None, per: Some(per) };
        let table = run(&both.sqlite, name, scope).await;
        assert!(table.rows.iter().all(|row| row[0] == Cell::Text(per.to_owned())));
        assert_same(name, &table, &run(&both.postgres, name, scope).await);
    }
    both.end().await;
}

/// Nearest rank, the slow way.
fn nearest_rank(sorted: &[u64], hundredths: usize) -> f64 {
    let rank = (sorted.len() * hundredths).div_ceil(100);
    Duration::from_micros(sorted[rank - 1]).as_secs_f64() * 1000.0
}

fn hour_of(entry: &Entry) -> u64 {
    entry.received_at.duration_since(UNIX_EPOCH).expect("after 1970").as_secs() / 3600
}

#[tokio::test(flavor = "multi_thread")]
async fn hourly_percentiles_are_those_of_the_rows() {
    let entries = requests(2, 2000);
    let Some(both) = Both::holding(&entries).await else { return };
    let mut expected: BTreeMap<(u64, String, &str, usize), Vec<u64>> = BTreeMap::new();
    for entry in &entries {
        for stage in entry.stages.iter().filter(|stage| stage.report.outcome != Outcome::Skipped) {
            let (hour, app) = (hour_of(entry), entry.app.to_string());
            let key = (hour, app, entry.endpoint, stage.report.stage as usize);
            let us = u64::try_from(stage.report.elapsed.as_micros()).expect("short");
            expected.entry(key).or_default().push(us);
        }
    }
    let scope = Scope { since: UNIX_EPOCH, app: None, per: Some("hour") };
    for source in [&both.sqlite, &both.postgres] {
        let table = run(source, "stage_latency", scope).await;
        assert_eq!(table.rows.len(), expected.len());
        for (row, (key, values)) in table.rows.iter().zip(&expected) {
            let mut values = values.clone();
            values.sort_unstable();
            let count = i64::try_from(values.len()).expect("few");
            assert_eq!(row[5], Cell::Count(count), "{key:?}");
            for (at, p) in [(6, 50), (7, 95), (8, 99)] {
                let Cell::Number(found) = row[at] else { panic!("{row:?}") };
                assert!((found - nearest_rank(&values, p)).abs() < 1e-6, "{key:?} {row:?}");
            }
        }
    }
    both.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counted_hours_add_up_and_are_within_one_per_cent() {
    let entries = requests(3, 3000);
    let Some(both) = Both::holding(&entries).await else { return };
    let rolled =
        both.database.number("SELECT coalesce(sum(stage_rows), 0)::bigint FROM rolled_hour").await;
    assert_eq!(rolled, both.database.number("SELECT count(*) FROM stage_log").await);
    assert!(both.database.number("SELECT count(*) FROM rolled_day").await > 0);
    // No window is small enough to be read itself.
    let url = format!("{}?options=-c%20kiwari.exact_rows%3D0", both.database.url());
    let counted = Source::postgres(&ledger::PgSettings::new(&url).expect("an address"));
    for app in [None, Some("docs")] {
        let scope = Scope { since: SystemTime::now() - 50 * HOUR, app, per: None };
        let exact = run(&both.sqlite, "stage_latency", scope).await;
        let near = run(&counted, "stage_latency", scope).await;
        assert_eq!(exact.rows.len(), near.rows.len());
        for (left, right) in exact.rows.iter().zip(&near.rows) {
            assert_eq!(left[..6], right[..6]);
            assert_near(left, right, 6..9, right[10] == Cell::Flag(true));
        }
        assert!(near.rows.iter().any(|row| row[10] == Cell::Flag(false)));
        let exact = run(&both.sqlite, "stages", scope).await;
        for (left, right) in exact.rows.iter().zip(&run(&counted, "stages", scope).await.rows) {
            assert_eq!((&left[..3], &left[6..]), (&right[..3], &right[6..]));
            assert_near(left, right, 3..6, false);
        }
    }
    counted.close().await;
    both.end().await;
}

fn assert_near(left: &[Cell], right: &[Cell], columns: std::ops::Range<usize>, is_exact: bool) {
    for at in columns {
        let (Cell::Number(left), Cell::Number(right)) = (&left[at], &right[at]) else {
            panic!("{left:?} {right:?}")
        };
        let error = (left - right).abs() / left;
        assert!(error <= if is_exact { 1e-9 } else { 0.01 }, "{left} {right}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_report_is_a_view_that_needs_no_arguments() {
    let Some(both) = Both::holding(&requests(4, 50)).await else { return };
    for name in NAMES {
        let view = format!("SELECT count(*) FROM report.{name}");
        let function = format!("SELECT count(*) FROM report.{name}(now() - interval '7 days')");
        let count = async |sql: String| -> i64 {
            let query = sqlx::query_scalar(sqlx::AssertSqlSafe(sql));
            query.fetch_one(&both.database.pool).await.expect("a view and a function")
        };
        let rows = count(view).await;
        assert!(rows > 0, "{name}");
        assert_eq!(rows, count(function).await, "{name}");
    }
    both.end().await;
}

#[tokio::test]
async fn an_unknown_report_or_period_is_refused_before_anything_is_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Store::open(&folder.path().join("l.sqlite")).await.expect("a new log opens");
    let source = Source::Sqlite(store);
    let scope = Scope { since: UNIX_EPOCH, app: None, per: None };
    let unknown = reports::run(&source, "nothing", scope).await.expect_err("unknown");
    assert!(unknown.to_string().contains("stage_latency"), "{unknown}");
    let per = Scope { per: Some("minute"), ..scope };
    assert!(reports::run(&source, "slo", per).await.is_err());
}
