//! What people and clocks do to a Postgres while a server ships to it. Rows wait for it, or find their place.

use std::time::Duration;

use ledger::{CallEntry, CallFate, Counts, Entry, Ledger, Models, OutboxCounts, Settings};
use tempfile::TempDir;

use crate::common::{Database, is_empty, plain, soon, until};

struct Running {
    database: Database,
    ledger: Ledger,
    _folder: TempDir,
}

impl Running {
    async fn start() -> Option<Self> {
        let database = Database::fresh().await?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut settings = database.settings();
        settings.longest_pause = Duration::from_millis(150);
        let path = folder.path().join("l.sqlite");
        let ledger = Ledger::start(&path, Settings::STANDARD, Some(settings)).await;
        Some(Self { database, ledger: ledger.expect("the log opens"), _folder: folder })
    }

    /// Records an entry, and waits until there is nothing that has not been shipped.
    async fn ship(&self, entry: Entry) -> OutboxCounts {
        let recorder = self.ledger.recorder();
        recorder.record(entry);
        until(&recorder, is_empty).await.outbox.expect("there is an outbox")
    }

    async fn execute(&self, statements: &[&'static str]) {
        for sql in statements {
            self.database.execute(sql).await;
        }
    }

    async fn end(self) {
        self.ledger.close(soon()).await;
        self.database.remove().await;
    }
}

/// What `format` makes of today's date, executed.
macro_rules! today {
    ($format:literal) => {
        concat!(
            "DO $$ BEGIN EXECUTE format('",
            $format,
            "', to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')); END $$"
        )
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_were_taken_away_come_back_with_their_rows() {
    let Some(running) = Running::start().await else { return };
    running.ship(plain()).await;
    running
        .execute(&[
            today!("ALTER TABLE request_log DETACH PARTITION request_log_%1$s"),
            today!("ALTER TABLE call_log DETACH PARTITION call_log_%1$s"),
        ])
        .await;
    running.ship(plain()).await;
    assert_eq!(running.database.requests().await, 2);
    running.execute(&[today!("DROP TABLE stage_log_%1$s")]).await;
    let outbox = running.ship(plain()).await;
    assert_eq!((outbox.shipped, outbox.refused), (3, 0));
    assert_eq!(running.database.requests().await, 3);
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_without_a_partition_wait_and_rows_that_break_a_rule_are_given_up() {
    let Some(running) = Running::start().await else { return };
    running.ship(plain()).await;
    running
        .execute(&[
            "ALTER FUNCTION ledger_make_day(date) RENAME TO kept",
            "CREATE FUNCTION ledger_make_day(day date) RETURNS void LANGUAGE sql AS ''",
            today!("DROP TABLE request_log_%1$s"),
        ])
        .await;
    let recorder = running.ledger.recorder();
    recorder.record(plain());
    let failing = |counts: &Counts| counts.outbox.is_some_and(|outbox| outbox.failures > 1);
    let outbox = until(&recorder, failing).await.outbox.expect("there is an outbox");
    assert_eq!((outbox.depth, outbox.refused), (1, 0));
    let error = recorder.outbox_error().unwrap_or_default();
    let expected = "the latency log cannot be shipped to Postgres: cannot write the latency log to Postgres: \
                    no partition of relation \"request_log\" found for row (SQLSTATE 23514)";
    assert_eq!(error, expected);
    running
        .execute(&[
            "DROP FUNCTION ledger_make_day",
            "ALTER FUNCTION kept RENAME TO ledger_make_day",
            "ALTER TABLE request_log ADD CONSTRAINT ours CHECK (endpoint <> 'refused')",
        ])
        .await;
    let outbox = running.ship(Entry { endpoint: "refused", ..plain() }).await;
    assert_eq!((outbox.shipped, outbox.refused), (2, 1));
    assert_eq!(recorder.outbox_error(), None);
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_made_anew_under_a_running_server_is_brought_up_to_date() {
    let Some(running) = Running::start().await else { return };
    running.ship(plain()).await;
    running.execute(&["DROP SCHEMA public, report CASCADE", "CREATE SCHEMA public"]).await;
    let outbox = running.ship(plain()).await;
    assert_eq!((outbox.shipped, outbox.failures), (2, 0));
    assert_eq!(running.database.requests().await, 1);
    running.end().await;
}

const FLOOR: &str = "SELECT (day - (now() AT TIME ZONE 'UTC')::date)::bigint FROM ledger_floor";

#[tokio::test(flavor = "multi_thread")]
async fn a_floor_that_a_wrong_clock_has_raised_comes_down_before_a_row_is_let_go() {
    let Some(running) = Running::start().await else { return };
    running.ship(plain()).await;
    running.execute(&["UPDATE ledger_floor SET day = now()::date + 300"]).await;
    let outbox = running.ship(plain()).await;
    assert_eq!((outbox.shipped, outbox.expired, outbox.failures), (2, 0, 0));
    assert_eq!(running.database.number(FLOOR).await, -30);
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_dropped_or_let_go_while_the_clock_of_postgres_is_another_one() {
    let Some(running) = Running::start().await else { return };
    running.ship(plain()).await;
    running
        .execute(&[
            // New connections find this before Postgres' own.
            "CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql
                AS $$ SELECT pg_catalog.now() + interval '40 days' $$",
            "CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql
                AS $$ SELECT pg_catalog.clock_timestamp() + interval '40 days' $$",
            "DO $$ BEGIN EXECUTE
                format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$",
        ])
        .await;
    let again =
        crate::send(&running.database, &[plain()]).await.outbox.expect("there is an outbox");
    assert_eq!((again.shipped, again.expired), (1, 0));
    assert_eq!(running.database.requests().await, 2);
    assert_eq!(running.database.number(FLOOR).await, -30);
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_with_a_nul_arrive_without_it() {
    let Some(running) = Running::start().await else { return };
    let call = CallEntry {
        model: "sm\0all".to_owned(),
        attempt: 1,
        started: Duration::ZERO,
        elapsed: Duration::ZERO,
        first_token: None,
        fate: CallFate::Used,
        usage: None,
        cost_micros: None,
    };
    let entry = Entry {
        client_request_id: Some("\0".to_owned()),
        segment: Some("a\0b".to_owned()),
        model: Some(Models { requested: "large\0".to_owned(), served: "\0small".to_owned() }),
        trace: r#"{"decisions": ["a\u0000"]}"#.to_owned(),
        calls: vec![call],
        ..plain()
    };
    let outbox = running.ship(entry).await;
    assert_eq!((outbox.shipped, outbox.refused), (1, 0));
    let clean = "SELECT count(*) FROM request_log JOIN call_log USING (request_id)
        WHERE (client_request_id, segment, model_requested, model_served, model) = ('', 'ab', 'large', 'small', 'small')
            AND trace ->> 'decisions' = '[\"a\"]'";
    assert_eq!(running.database.number(clean).await, 1);
    running.end().await;
}
