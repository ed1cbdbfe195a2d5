//! The schema in Postgres: migrations, days, retention, closed hours, several servers at once.

use std::time::{Duration, SystemTime};

use ledger::{Counts, Entry, Ledger, PgError, Settings, Store, postgres};
use sqlx::migrate::Migrator;
use sqlx::postgres::PgConnection;

use crate::common::{Database, is_empty, plain, ship, soon, until};

mod common;
mod mishaps;

const DAY: Duration = Duration::from_secs(86_400);

fn received(age: Duration) -> Entry {
    Entry { received_at: SystemTime::now() - age, ..plain() }
}

/// Ships `entries` from a disk of their own.
async fn send(database: &Database, entries: &[Entry]) -> Counts {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("l.sqlite");
    let store = Store::open(&path).await.expect("a new log opens");
    store.write(entries).await.expect("a healthy disk takes the batch");
    store.close().await;
    ship(&path, database.settings()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn migrations_say_what_is_missing_and_run_once_however_many_ask() {
    let Some(database) = Database::fresh().await else { return };
    let settings = database.settings();
    let missing = postgres::pending(&settings).await.expect("a new database");
    assert!(missing.len() >= 2 && missing[0].contains("latency log"), "{missing:?}");
    let (one, other) = tokio::join!(postgres::migrate(&settings), postgres::migrate(&settings));
    assert_eq!(one.expect("migrates").len(), missing.len());
    other.expect("waits for the other");
    assert!(postgres::pending(&settings).await.expect("up to date").is_empty());
    assert!(postgres::migrate(&settings).await.expect("nothing to do").is_empty());
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_may_not_migrate_waits_for_who_may() {
    let Some(database) = Database::fresh().await else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut settings = database.settings();
    settings.migrate_at_start = false;
    let path = folder.path().join("l.sqlite");
    let ledger = Ledger::start(&path, Settings::STANDARD, Some(settings)).await.expect("it opens");
    let recorder = ledger.recorder();
    recorder.record(plain());
    let failing = |counts: &Counts| counts.outbox.is_some_and(|outbox| outbox.failures > 1);
    assert_eq!(until(&recorder, failing).await.outbox.map(|outbox| outbox.shipped), Some(0));
    database.migrated().await;
    until(&recorder, is_empty).await;
    ledger.close(soon()).await;
    assert_eq!(database.requests().await, 1);
    database.remove().await;
}

#[tokio::test]
async fn no_postgres_at_all_is_told_apart_from_a_wrong_address() {
    let nobody = ledger::PgSettings::new("postgres://u:p@127.0.0.1:1/none").expect("an address");
    assert!(matches!(postgres::pending(&nobody).await, Err(PgError::Connect(_))));
    assert!(matches!(ledger::PgSettings::new("nowhere"), Err(PgError::Url(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_day_has_its_partition_and_some_are_made_ahead() {
    let Some(database) = Database::fresh().await else { return };
    send(&database, &[received(Duration::ZERO), received(2 * DAY), received(9 * DAY)]).await;
    let days = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'stage_log'::regclass";
    // Two days of the past, and today with three ahead.
    assert_eq!(database.number(days).await, 6);
    let today = "SELECT count(*) FROM request_log
        WHERE tableoid::regclass::text = 'request_log_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')";
    assert_eq!(database.number(today).await, 1);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn days_past_their_retention_are_dropped_and_their_late_rows_counted_and_let_go() {
    let Some(database) = Database::fresh().await else { return };
    // The first run finds the old row a partition, and its maintenance drops it.
    send(&database, &[received(Duration::ZERO), received(40 * DAY)]).await;
    assert_eq!(database.requests().await, 1);
    // The second knows better.
    let counts =
        send(&database, &[received(29 * DAY), received(40 * DAY), received(31 * DAY)]).await;
    let outbox = counts.outbox.expect("there is an outbox");
    assert_eq!((outbox.shipped, outbox.expired, outbox.depth), (1, 2, 0));
    assert_eq!(database.requests().await, 2);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_row_takes_its_hour_out_of_the_histograms_until_it_is_counted_again() {
    let Some(database) = Database::fresh().await else { return };
    let age = Duration::from_secs(5 * 3600);
    let counted = "SELECT coalesce(sum(n), 0)::bigint FROM stage_histogram, unnest(counts) AS n";
    let rolled = "SELECT coalesce(sum(stage_rows), 0)::bigint FROM rolled_hour";
    send(&database, &[received(age), received(age)]).await;
    assert_eq!((database.number(counted).await, database.number(rolled).await), (2, 2));
    // Maintenance is held up, so that the state in between can be seen.
    let mut held = database.pool.acquire().await.expect("a connection");
    let lock = "SELECT pg_advisory_lock(1802073953, 2)";
    sqlx::query(lock).execute(&mut *held).await.expect("a free lock");
    send(&database, &[received(age)]).await;
    assert_eq!((database.number(counted).await, database.number(rolled).await), (2, 0));
    sqlx::query("SELECT pg_advisory_unlock_all()").execute(&mut *held).await.expect("unlocks");
    drop(held);
    send(&database, &[]).await;
    let maintained = async {
        while database.number(rolled).await != 3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(soon().run(maintained).await.is_ok());
    assert_eq!(database.number(counted).await, 3);
    database.remove().await;
}

/// Lets maintenance go on until `sql` gives `wanted`.
async fn maintained(database: &Database, sql: &'static str, wanted: i64) {
    let maintaining = async {
        while database.number(sql).await != wanted {
            send(database, &[]).await;
        }
    };
    assert!(soon().run(maintaining).await.is_ok(), "not {wanted}: {sql}");
}

/// Stage rows of the last week, however they are counted: none are few enough to be read themselves.
async fn counted(connection: &mut PgConnection) -> i64 {
    let all = "SET kiwari.exact_rows = 0";
    sqlx::query(all).execute(&mut *connection).await.expect("a setting");
    let sum = "SELECT sum(n)::bigint FROM report.stage_latency(now() - interval '7 days') WHERE per = 'window'";
    sqlx::query_scalar(sum).fetch_one(connection).await.expect("a sum")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_row_takes_its_day_out_of_the_sums_until_it_is_added_up_again() {
    let Some(database) = Database::fresh().await else { return };
    let days = "SELECT count(*) FROM rolled_day";
    let summed = "SELECT coalesce(sum(n), 0)::bigint FROM stage_day_histogram, unnest(counts) AS n";
    send(&database, &[received(2 * DAY), received(2 * DAY), received(3 * DAY)]).await;
    maintained(&database, summed, 3).await;
    let all = database.number(days).await;
    let mut held = database.pool.acquire().await.expect("a connection");
    assert_eq!(counted(&mut held).await, 3);
    let lock = "SELECT pg_advisory_lock(1802073953, 2)";
    sqlx::query(lock).execute(&mut *held).await.expect("a free lock");
    send(&database, &[received(2 * DAY)]).await;
    assert_eq!(database.number(days).await, all - 1);
    assert_eq!(counted(&mut held).await, 4);
    sqlx::query("SELECT pg_advisory_unlock_all()").execute(&mut *held).await.expect("unlocks");
    maintained(&database, days, all).await;
    assert_eq!((database.number(summed).await, counted(&mut held).await), (4, 4));
    drop(held);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hours_counted_before_endpoints_were_told_apart_are_counted_again_or_called_both() {
    const COUNTED: &str = "SELECT count(ledger_roll_hour(hour)) FROM ledger_open_hours(now() - interval '1 hour') AS hour";
    let Some(database) = Database::fresh().await else { return };
    let all = sqlx::migrate!("../../migrations/postgres/ledger");
    let before = all.iter().filter(|migration| migration.version < 4).cloned().collect();
    Migrator::with_migrations(before).run(&database.pool).await.expect("a new database");
    for sql in [
        "SELECT ledger_make_day((now() AT TIME ZONE 'UTC')::date - ago) FROM generate_series(0, 3) AS ago",
        "INSERT INTO stage_log (received_at, request_id, seq, endpoint, app, stage, outcome, started_us, elapsed_us,
            budget_us, attempts, hedged, cache_hit)
         SELECT now() - age, gen_random_uuid(), 0, endpoint, 'a', 'embed', 'ok', 0, 1000, 1000, 1, false, false
         FROM unnest(ARRAY[interval '2 days', interval '3 days']) AS age, unnest(ARRAY['answer', 'search']) AS endpoint",
        COUNTED,
        "SELECT ledger_drop_days((now() AT TIME ZONE 'UTC')::date - 2, '2000-01-01')",
    ] {
        database.execute(sql).await;
    }
    database.migrated().await;
    database.execute(COUNTED).await;
    let endpoints = "SELECT string_agg(endpoint || ' ' || n, ', ' ORDER BY endpoint)
        FROM report.stage_latency(now() - interval '7 days') WHERE per = 'window'";
    let endpoints: String =
        sqlx::query_scalar(endpoints).fetch_one(&database.pool).await.expect("a text");
    assert_eq!(endpoints, "answer 1, both 2, search 1");
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn histograms_outlive_the_rows_they_were_counted_from() {
    let Some(database) = Database::fresh().await else { return };
    send(&database, &[received(3 * DAY), received(3 * DAY)]).await;
    let drop = "SELECT ledger_drop_days((now() AT TIME ZONE 'UTC')::date - 1, '2000-01-01')";
    sqlx::query(drop).execute(&database.pool).await.expect("drops");
    assert_eq!(database.requests().await, 0);
    let counted = "SELECT sum(n)::bigint FROM report.stage_latency(now() - interval '7 days')
        WHERE per = 'window'";
    assert_eq!(database.number(counted).await, 2);
    // Counting the hour again, now that it is empty, changes nothing.
    let again = "SELECT ledger_roll_hour(hour) FROM rolled_hour";
    sqlx::query(again).execute(&database.pool).await.expect("rolls");
    assert_eq!(database.number(counted).await, 2);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_start_at_once_do_not_collide() {
    const SERVERS: i64 = 6;
    let Some(database) = Database::fresh().await else { return };
    let entries: Vec<Vec<Entry>> = (0..SERVERS)
        .map(|_| (0..50).map(|hours| received(Duration::from_secs(3600 * hours))).collect())
        .collect();
    let sending = entries.iter().map(|entries| send(&database, entries));
    let counts = futures_util::future::join_all(sending).await;
    assert!(counts.iter().all(|counts| counts.outbox.is_some_and(|outbox| outbox.shipped == 50)));
    assert_eq!(database.requests().await, SERVERS * 50);
    database.remove().await;
}
