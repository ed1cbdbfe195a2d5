//! The way from the disk to Postgres, made bad in every way; nothing is lost and nothing doubled.
#![expect(clippy::print_stdout, reason = "the figures are what this is for")]

use std::time::{Duration, SystemTime};

use fastrand::Rng;
use ledger::{Entry, Ledger, PgSettings, Recorder, Settings};
use tempfile::TempDir;

use crate::common::proxy::{Proxy, Way};
use crate::common::{Database, drawn, is_empty, plain, ship, soon, until};

mod common;

/// A log whose Postgres is behind a proxy.
struct Shipping {
    folder: TempDir,
    database: Database,
    proxy: Proxy,
    ledger: Ledger,
    recorder: Recorder,
}

impl Shipping {
    async fn start(way: Way) -> Option<Self> {
        Self::start_with(way, |_| {}).await
    }

    async fn start_with(way: Way, set: impl FnOnce(&mut PgSettings)) -> Option<Self> {
        let database = Database::fresh().await?;
        let proxy = Proxy::to(database.host()).await;
        proxy.set(way);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut settings = PgSettings::new(&database.url_through(proxy.port)).expect("an address");
        // Tests have less time than operators.
        settings.longest_pause = Duration::from_millis(150);
        set(&mut settings);
        let ledger = Ledger::start(&file(&folder), Settings::STANDARD, Some(settings)).await;
        let ledger = ledger.expect("the log opens, whatever Postgres does");
        let recorder = ledger.recorder();
        Some(Self { folder, database, proxy, ledger, recorder })
    }

    fn record(&self, count: usize) {
        (0..count).for_each(|_| self.recorder.record(plain()));
    }

    /// Everything recorded is in Postgres once, with its rows, and gone from the disk.
    async fn arrived(&self, count: i64) {
        let counts = until(&self.recorder, is_empty).await;
        assert_eq!(counts.dropped, 0);
        let outbox = counts.outbox.expect("there is an outbox");
        assert_eq!((outbox.expired, outbox.refused), (0, 0));
        assert_eq!(self.database.requests().await, count);
        assert_eq!(self.database.number("SELECT count(*) FROM stage_log").await, count);
    }

    async fn end(self) {
        self.ledger.close(soon()).await;
        self.database.remove().await;
    }
}

fn file(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("ledger.sqlite")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_in_while_postgres_was_away_arrives_once_it_is_back() {
    let Some(shipping) = Shipping::start(Way::Refusing).await else { return };
    shipping.record(5000);
    let counts = until(&shipping.recorder, |counts| {
        counts.written == 5000 && counts.outbox.is_some_and(|outbox| outbox.failures >= 3)
    })
    .await;
    let outbox = counts.outbox.expect("there is an outbox");
    assert_eq!((outbox.shipped, outbox.depth), (0, 5000));
    assert!(outbox.lag > Duration::ZERO);

    shipping.proxy.set(Way::Open);
    shipping.arrived(5000).await;
    let outbox = until(&shipping.recorder, |counts| {
        counts.outbox.is_some_and(|outbox| outbox.lag.is_zero())
    })
    .await
    .outbox;
    assert_eq!(outbox.expect("there is an outbox").failures, 0);
    shipping.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_break_at_any_byte_lose_and_double_nothing() {
    const ROUNDS: usize = 100;
    let Some(shipping) = Shipping::start(Way::Open).await else { return };
    let mut rng = Rng::with_seed(7);
    for round in 0..ROUNDS {
        // A batch of 40 requests is some 45 KB to the server, and a few hundred bytes back.
        shipping.proxy.set(if round % 2 == 0 {
            Way::BreaksAfterSending(rng.usize(1..60_000))
        } else {
            Way::BreaksAfterHearing(rng.usize(1..1500))
        });
        shipping.record(40);
        let before = shipping.proxy.broken();
        until(&shipping.recorder, |counts| is_empty(counts) || shipping.proxy.broken() > before)
            .await;
    }
    shipping.proxy.set(Way::Open);
    shipping.arrived(40 * i64::try_from(ROUNDS).expect("few")).await;
    println!("{} of {ROUNDS} rounds broke a connection", shipping.proxy.broken());
    assert!(shipping.proxy.broken() > ROUNDS / 3);
    shipping.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stall_is_left_behind_and_its_batch_sent_again() {
    const ROUNDS: usize = 8;
    let patience = |settings: &mut PgSettings| settings.patience = Duration::from_millis(300);
    let Some(shipping) = Shipping::start_with(Way::Open, patience).await else { return };
    // Migrating is none of a batch's business.
    shipping.record(1);
    shipping.arrived(1).await;
    let mut rng = Rng::with_seed(8);
    for _ in 0..ROUNDS {
        shipping.proxy.set(Way::StallsAfterSending(rng.usize(2000..40_000)));
        let before = shipping.proxy.broken();
        shipping.record(40);
        until(&shipping.recorder, |counts| is_empty(counts) || shipping.proxy.broken() > before)
            .await;
        // The stalled connection is given up by us; the next one gets through.
        let written = until(&shipping.recorder, |counts| counts.written == counts.queued).await;
        assert_eq!(written.dropped, 0);
        shipping.proxy.set(Way::Open);
        until(&shipping.recorder, is_empty).await;
    }
    shipping.arrived(1 + 40 * i64::try_from(ROUNDS).expect("few")).await;
    shipping.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_the_server_ends_at_any_moment_lose_and_double_nothing() {
    const ROUNDS: usize = 60;
    let Some(shipping) = Shipping::start(Way::Open).await else { return };
    let mut rng = Rng::with_seed(9);
    for _ in 0..ROUNDS {
        shipping.record(100);
        tokio::time::sleep(Duration::from_millis(rng.u64(0..120))).await;
        shipping
            .database
            .execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = current_database() AND application_name = 'kiwari'",
            )
            .await;
    }
    shipping.arrived(100 * i64::try_from(ROUNDS).expect("few")).await;
    shipping.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_shipped_before_the_end_is_shipped_after_the_next_start() {
    let Some(shipping) = Shipping::start(Way::Refusing).await else { return };
    shipping.record(700);
    let Shipping { folder, database, proxy, ledger, recorder } = shipping;
    ledger.close(soon()).await;
    assert_eq!(recorder.counts().written, 700);
    drop(proxy);
    let counts = ship(&file(&folder), database.settings()).await;
    assert_eq!(counts.outbox.expect("there is an outbox").shipped, 700);
    assert_eq!(database.requests().await, 700);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_from_before_there_was_a_postgres_is_shipped_too() {
    let Some(database) = Database::fresh().await else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let alone = Ledger::start(&file(&folder), Settings::STANDARD, None).await.expect("opens");
    let mut rng = Rng::with_seed(10);
    let entries: Vec<_> = (0..300).map(|_| drawn(&mut rng, SystemTime::now())).collect();
    let calls: usize = entries.iter().map(|entry| entry.calls.len()).sum();
    entries.into_iter().for_each(|entry| alone.recorder().record(entry));
    alone.close(soon()).await;
    ship(&file(&folder), database.settings()).await;
    assert_eq!(database.requests().await, 300);
    assert_eq!(database.number("SELECT count(*) FROM stage_log").await, 1800);
    let arrived = database.number("SELECT count(*) FROM call_log").await;
    assert_eq!(usize::try_from(arrived).expect("few"), calls);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_postgres_refuses_is_counted_and_holds_nothing_up() {
    let Some(shipping) = Shipping::start(Way::Refusing).await else { return };
    shipping.record(20);
    let mut poison = plain();
    poison.trace = "{ this is no JSON".to_owned();
    shipping.recorder.record(poison);
    shipping.record(20);
    until(&shipping.recorder, |counts| counts.written == 41).await;
    shipping.proxy.set(Way::Open);
    let outbox = until(&shipping.recorder, is_empty).await.outbox.expect("there is an outbox");
    assert_eq!((outbox.shipped, outbox.refused), (40, 1));
    assert_eq!(shipping.database.requests().await, 40);
    shipping.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_gives_up_half_way_through_removing_is_counted_right() {
    let Some(shipping) = Shipping::start(Way::Refusing).await else { return };
    shipping.record(60);
    until(&shipping.recorder, |counts| counts.written == 60).await;
    let disk = sqlx::SqlitePool::connect(&format!("sqlite:{}", file(&shipping.folder).display()))
        .await
        .expect("a second hand on the file");
    // Rows are removed a few at a time; the last one's turn never comes.
    let stuck = "CREATE TRIGGER stuck BEFORE DELETE ON request_log
        WHEN OLD.request_id = (SELECT max(request_id) FROM request_log)
        BEGIN SELECT RAISE(ABORT, 'stuck'); END";
    sqlx::query(stuck).execute(&disk).await.expect("a trigger");
    shipping.proxy.set(Way::Open);
    let stuck = until(&shipping.recorder, |counts| {
        counts.outbox.is_some_and(|outbox| outbox.shipped > 0 && outbox.failures >= 3)
    })
    .await;
    let outbox = stuck.outbox.expect("there is an outbox");
    assert!((1..60).contains(&outbox.depth), "{outbox:?}");
    assert_eq!(outbox.shipped + outbox.depth, 60);

    sqlx::query("DROP TRIGGER stuck").execute(&disk).await.expect("no trigger");
    disk.close().await;
    shipping.arrived(60).await;
    assert_eq!(shipping.recorder.counts().outbox.expect("there is an outbox").shipped, 60);
    shipping.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_does_not_grow_with_what_was_shipped() {
    let Some(shipping) = Shipping::start(Way::Refusing).await else { return };
    let trace = format!("{{\"note\": \"{}\"}}", "x".repeat(4000));
    for _ in 0..6000 {
        shipping.recorder.record(Entry { trace: trace.clone(), ..plain() });
    }
    until(&shipping.recorder, |counts| counts.written == 6000).await;
    // What has been written reaches the file itself when it is folded.
    let grown = until_size(&shipping, |bytes| bytes > 20 << 20).await;
    shipping.proxy.set(Way::Open);
    shipping.arrived(6000).await;
    // What is spared for the next rows is 4 MB.
    let shrunk = until_size(&shipping, |bytes| bytes < 6 << 20).await;
    println!("{grown} bytes came down to {shrunk}");
    shipping.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outbox_that_may_not_grow_lets_the_oldest_go_and_counts_them() {
    const MOST: u64 = 2 << 20;
    let Some(database) = Database::fresh().await else { return };
    let proxy = Proxy::to(database.host()).await;
    proxy.set(Way::Refusing);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut postgres = PgSettings::new(&database.url_through(proxy.port)).expect("an address");
    postgres.longest_pause = Duration::from_millis(50);
    let settings = Settings { most_waiting: Some(MOST), ..Settings::STANDARD };
    let ledger = Ledger::start(&file(&folder), settings, Some(postgres)).await.expect("opens");
    let recorder = ledger.recorder();
    let trace = format!("{{\"note\": \"{}\"}}", "x".repeat(4000));
    for _ in 0..2000 {
        recorder.record(Entry { trace: trace.clone(), ..plain() });
    }
    let newest = plain();
    let newest_id = newest.request_id.to_string();
    recorder.record(newest);
    // Some 10 MB came in.
    let full = until(&recorder, |counts| {
        let outbox = counts.outbox.expect("there is an outbox");
        counts.written == 2001 && outbox.overflowed > 1000 && outbox.failures > 0
    })
    .await;
    assert_eq!(full.dropped, 0);
    proxy.set(Way::Open);
    let outbox = until(&recorder, is_empty).await.outbox.expect("there is an outbox");
    assert_eq!(outbox.shipped + outbox.overflowed, 2001);
    assert_eq!(database.requests().await, i64::try_from(outbox.shipped).expect("few"));
    let kept: i64 =
        sqlx::query_scalar("SELECT count(*) FROM request_log WHERE request_id = $1::uuid")
            .bind(newest_id)
            .fetch_one(&database.pool)
            .await
            .expect("a number");
    assert_eq!(kept, 1, "the oldest go, not the newest");
    ledger.close(soon()).await;
    database.remove().await;
}

/// The file's size, once it is as wanted.
async fn until_size(shipping: &Shipping, wanted: impl Fn(u64) -> bool) -> u64 {
    let size = || std::fs::metadata(file(&shipping.folder)).expect("the file is there").len();
    let waiting = async {
        while !wanted(size()) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(soon().run(waiting).await.is_ok(), "still {}", size());
    size()
}
