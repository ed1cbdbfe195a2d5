//! [`look`]: what an operator wants to know of the log's Postgres. Changes nothing.

use std::time::{Duration, SystemTime};

use sqlx::FromRow;
use sqlx::postgres::{PgConnection, PgSslMode};
use tokio::time::Instant;

use super::migrations::state_of;
use super::session::{bounded, connect};
use super::{PgError, PgSettings, Session};
use crate::entry::unix_micros;

/// How long each question may take, once connected.
const QUESTION: Duration = Duration::from_secs(3);

/// What a Postgres says of itself and of the log in it.
#[derive(Clone, Debug)]
pub struct Look {
    pub server: ServerState,
    /// Names of migrations of this program that have not been applied.
    pub pending: Vec<String>,
    /// Versions that a newer program has applied.
    pub newer: Vec<i64>,
    pub clock: ClockOffset,
    /// `None` while migrations are missing.
    pub log: Option<LogState>,
}

/// The server and this connection to it.
#[derive(Clone, Debug, FromRow)]
pub struct ServerState {
    /// Such as 170004.
    pub version: i32,
    pub database: String,
    /// Whether this connection is encrypted.
    pub tls: bool,
    /// Whether it is a copy that takes no writes, or is set to take none.
    pub read_only: bool,
    /// Where the log's tables are, or would be made; nothing where no schema of the search path can be used.
    pub schema: String,
    /// Whether tables can be made in it.
    pub may_create: bool,
}

/// How far the server's clock is from ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// Positive: the server is ahead.
    pub ahead_us: i64,
    /// How far off that may be at most: half of the time that asking took.
    pub error: Duration,
}

impl ClockOffset {
    /// Whether the two are further apart than `most`, however long asking took.
    pub(crate) fn exceeds(self, most: Duration) -> bool {
        Duration::from_micros(self.ahead_us.unsigned_abs()) > most + self.error
    }

    /// In whole seconds; negative: the server is behind.
    pub(crate) fn ahead_s(self) -> i64 {
        self.ahead_us / 1_000_000
    }
}

/// The log's tables.
#[derive(Clone, Copy, Debug, FromRow)]
pub struct LogState {
    /// Whether all three have a partition for this UTC day.
    pub today: bool,
    pub tomorrow: bool,
    /// Whether there is a partition for any day: a server has kept them before.
    pub any_day: bool,
    /// When the newest request in it was received, in microseconds since the Unix epoch.
    pub newest_us: Option<i64>,
    /// The server's own now, in the same.
    pub now_us: i64,
}

const SERVER: &str = "
    SELECT current_setting('server_version_num')::integer AS version, current_database()::text AS database,
           coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS tls,
           pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean AS read_only,
           coalesce(current_schema()::text, '') AS schema,
           coalesce(has_schema_privilege(current_schema()::text, 'CREATE'), false) AS may_create";

const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

const LOG: &str = "
    WITH days AS (
        SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD') AS today,
               to_char((now() AT TIME ZONE 'UTC') + interval '1 day', 'YYYYMMDD') AS tomorrow
    ), parts AS (
        SELECT relname::text AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent IN ('request_log'::regclass, 'stage_log'::regclass, 'call_log'::regclass)
    )
    SELECT (SELECT count(*) = 3 FROM parts WHERE right(name, 8) = today) AS today,
           (SELECT count(*) = 3 FROM parts WHERE right(name, 8) = tomorrow) AS tomorrow,
           EXISTS (SELECT FROM parts) AS any_day,
           (extract(epoch FROM (SELECT max(received_at) FROM request_log)) * 1000000)::bigint AS newest_us,
           (extract(epoch FROM now()) * 1000000)::bigint AS now_us
    FROM days";

impl LogState {
    /// How long ago the newest request in it was received, by the server's clock; `None` where there is none.
    #[must_use]
    pub fn newest_age(&self) -> Option<Duration> {
        let age = self.now_us.saturating_sub(self.newest_us?);
        Some(Duration::from_micros(u64::try_from(age).unwrap_or(0)))
    }
}

/// Connects and asks, changing nothing.
///
/// # Errors
///
/// [`PgError::Connect`], [`PgError::TimedOut`], [`PgError::Read`].
pub async fn look(settings: &PgSettings) -> Result<Look, PgError> {
    let mut session = connect(settings).await?;
    let looked = ask(&mut session).await;
    session.end().await;
    looked
}

async fn ask(session: &mut Session) -> Result<Look, PgError> {
    let connection = &mut session.0;
    let server = question(sqlx::query_as(SERVER).fetch_one(&mut *connection)).await?;
    let state = question(state_of(connection)).await?;
    let clock = clock(connection).await?;
    let log = if state.pending.is_empty() {
        Some(question(sqlx::query_as(LOG).fetch_one(&mut *connection)).await?)
    } else {
        None
    };
    Ok(Look { server, pending: state.pending, newer: state.newer, clock, log })
}

/// The server read its clock at some moment between the question and the answer.
pub(super) async fn clock(connection: &mut PgConnection) -> Result<ClockOffset, PgError> {
    let (before, started) = (unix_micros(SystemTime::now()), Instant::now());
    let theirs: i64 = question(sqlx::query_scalar(NOW).fetch_one(connection)).await?;
    let error = started.elapsed() / 2;
    let middle = before.saturating_add(i64::try_from(error.as_micros()).unwrap_or(i64::MAX));
    Ok(ClockOffset { ahead_us: theirs.saturating_sub(middle), error })
}

async fn question<T>(asking: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, PgError> {
    bounded(QUESTION, asking).await?.map_err(PgError::Read)
}

impl PgSettings {
    /// Where it is, without user and password: `host:port/database`.
    #[must_use]
    pub fn place(&self) -> String {
        let options = &self.options;
        let database = options.get_database().unwrap_or_else(|| options.get_username());
        match options.get_socket() {
            Some(socket) => format!("{}/{database}", socket.display()),
            None => format!("{}:{}/{database}", options.get_host(), options.get_port()),
        }
    }

    /// Who signs in.
    #[must_use]
    pub fn user(&self) -> &str {
        self.options.get_username()
    }

    /// Whether nothing but TLS will do.
    #[must_use]
    pub fn insists_on_tls(&self) -> bool {
        let mode = self.options.get_ssl_mode();
        matches!(mode, PgSslMode::Require | PgSslMode::VerifyCa | PgSslMode::VerifyFull)
    }
}
