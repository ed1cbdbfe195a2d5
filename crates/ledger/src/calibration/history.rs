//! [`History`]: what a window of the log holds of one app's answers.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use deadline::Deadline;
use domain::{Reason, Stage};
use sqlx::{PgPool, SqlitePool};

use super::CalibrationError;
use crate::entry::unix_micros;
use crate::reports::Source;
use crate::{LedgerError, PgError};

/// From a window with more answers than this, an even share of about as many is read: percentiles need no more.
const MOST: u64 = 50_000;

/// How long Postgres may take over one query.
const READ: Duration = Duration::from_secs(60);

/// Requests received from `from` on and before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: SystemTime,
    pub to: SystemTime,
}

/// One app's answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// How many there are in the window.
    pub answered: u64,
    /// Those that were read, in the order of their ids.
    pub requests: Vec<PastRequest>,
}

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastRequest {
    /// Microseconds from the Unix epoch.
    pub received_at_us: i64,
    pub keyword: Option<Observed>,
    pub embed: Option<Observed>,
    pub vector: Option<Observed>,
    pub generate: Option<Observed>,
    /// Generation was not started for want of time.
    pub lacked_time: bool,
    pub calls: Vec<PastCall>,
}

/// A stage that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    pub took: Duration,
    pub ended: Ended,
}

/// How something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Done,
    /// It would have taken longer.
    Cut,
    Failed,
}

/// One call of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastCall {
    pub model: String,
    /// From 1.
    pub attempt: u32,
    pub first_token: Option<Duration>,
    pub took: Duration,
    /// `Done` if its whole text is the answer.
    pub ended: Ended,
    /// Tokens of text, if the provider said.
    pub text_tokens: Option<u64>,
}

impl PastRequest {
    /// What became of `stage`, if it ran.
    #[must_use]
    pub fn stage(&self, stage: Stage) -> Option<Observed> {
        match stage {
            Stage::Keyword => self.keyword,
            Stage::Embed => self.embed,
            Stage::Vector => self.vector,
            Stage::Generate => self.generate,
            Stage::Normalize | Stage::Template => None,
        }
    }
}

/// The apps that answered anything within `window`.
///
/// # Errors
///
/// [`CalibrationError`].
pub async fn apps(source: &Source, window: Window) -> Result<Vec<String>, CalibrationError> {
    let (from, to) = (unix_micros(window.from), unix_micros(window.to));
    Ok(match source {
        Source::Sqlite(store) => {
            let query = sqlx::query_scalar(SQLITE_APPS).bind(from).bind(to);
            query.fetch_all(store.pool()).await.map_err(LedgerError::Read)?
        }
        Source::Postgres(pool) => {
            let query = sqlx::query_scalar(POSTGRES_APPS).bind(from).bind(to);
            in_time(query.fetch_all(pool)).await?
        }
    })
}

/// The answers of `app` within `window`.
///
/// # Errors
///
/// [`CalibrationError`].
pub async fn history(
    source: &Source,
    app: &str,
    window: Window,
) -> Result<History, CalibrationError> {
    let asked = Asked { app, from: unix_micros(window.from), to: unix_micros(window.to) };
    let (answered, stages, calls) = match source {
        Source::Sqlite(store) => sqlite(store.pool(), &asked).await.map_err(LedgerError::Read)?,
        Source::Postgres(pool) => postgres(pool, &asked).await?,
    };
    Ok(History { answered, requests: requests(stages, calls) })
}

struct Asked<'a> {
    app: &'a str,
    from: i64,
    to: i64,
}

/// `request_id`, `received_at_us`, `stage`, `outcome`, `reason`, `elapsed_us`.
type StageRow = (String, i64, String, String, Option<String>, i64);
/// `request_id`, `model`, `attempt`, `fate`, `first_token_us`, `elapsed_us`, tokens of text.
type CallRow = (String, String, i64, String, Option<i64>, i64, Option<i64>);
type Rows = (u64, Vec<StageRow>, Vec<CallRow>);

const SQLITE_APPS: &str = "
    SELECT DISTINCT app FROM request_log
    WHERE endpoint = 'answer' AND kind <> 'abandoned' AND received_at_us >= ?1 AND received_at_us < ?2 ORDER BY app";
const SQLITE_COUNT: &str = "
    SELECT count(*) FROM request_log
    WHERE endpoint = 'answer' AND kind <> 'abandoned' AND received_at_us >= ?1 AND received_at_us < ?2 AND app = ?3";
const SQLITE_STAGES: &str = "
    SELECT request_id, received_at_us, stage, outcome, reason, elapsed_us FROM stage_log
    WHERE endpoint = 'answer' AND received_at_us >= ?1 AND received_at_us < ?2 AND app = ?3
        AND stage IN ('keyword', 'embed', 'vector', 'generate') AND substr(request_id, -2) < ?4";
const SQLITE_CALLS: &str = "
    SELECT request_id, model, attempt, fate, first_token_us, elapsed_us,
        output_tokens - coalesce(thinking_tokens, 0)
    FROM call_log
    WHERE received_at_us >= ?1 AND received_at_us < ?2 AND app = ?3 AND substr(request_id, -2) < ?4
    ORDER BY request_id, seq";

const POSTGRES_APPS: &str = "
    SELECT DISTINCT app FROM request_log
    WHERE endpoint = 'answer' AND kind <> 'abandoned' AND received_at >= ledger_moment($1) AND received_at < ledger_moment($2)
    ORDER BY app";
const POSTGRES_COUNT: &str = "
    SELECT count(*) FROM request_log
    WHERE endpoint = 'answer' AND kind <> 'abandoned' AND received_at >= ledger_moment($1) AND received_at < ledger_moment($2)
        AND app = $3";
const POSTGRES_STAGES: &str = "
    SELECT request_id::text, (extract(epoch FROM received_at) * 1000000)::bigint, stage, outcome, reason,
        elapsed_us
    FROM stage_log
    WHERE endpoint = 'answer' AND received_at >= ledger_moment($1) AND received_at < ledger_moment($2)
        AND app = $3 AND stage IN ('keyword', 'embed', 'vector', 'generate')
        AND right(request_id::text, 2) COLLATE \"C\" < $4";
const POSTGRES_CALLS: &str = "
    SELECT request_id::text, model, attempt::bigint, fate, first_token_us, elapsed_us,
        output_tokens - coalesce(thinking_tokens, 0)
    FROM call_log
    WHERE received_at >= ledger_moment($1) AND received_at < ledger_moment($2) AND app = $3
        AND right(request_id::text, 2) COLLATE \"C\" < $4
    ORDER BY request_id, seq";

async fn sqlite(pool: &SqlitePool, asked: &Asked<'_>) -> Result<Rows, sqlx::Error> {
    let count = sqlx::query_scalar(SQLITE_COUNT).bind(asked.from).bind(asked.to).bind(asked.app);
    let answered = at_least_none(count.fetch_one(pool).await?);
    let below = below(answered);
    let stages = sqlx::query_as(SQLITE_STAGES).bind(asked.from).bind(asked.to).bind(asked.app);
    let stages = stages.bind(&below).fetch_all(pool).await?;
    let calls = sqlx::query_as(SQLITE_CALLS).bind(asked.from).bind(asked.to).bind(asked.app);
    let calls = calls.bind(&below).fetch_all(pool).await?;
    Ok((answered, stages, calls))
}

async fn postgres(pool: &PgPool, asked: &Asked<'_>) -> Result<Rows, PgError> {
    let count = sqlx::query_scalar(POSTGRES_COUNT).bind(asked.from).bind(asked.to).bind(asked.app);
    let answered = at_least_none(in_time(count.fetch_one(pool)).await?);
    let below = below(answered);
    let stages = sqlx::query_as(POSTGRES_STAGES).bind(asked.from).bind(asked.to).bind(asked.app);
    let stages = in_time(stages.bind(&below).fetch_all(pool)).await?;
    let calls = sqlx::query_as(POSTGRES_CALLS).bind(asked.from).bind(asked.to).bind(asked.app);
    let calls = in_time(calls.bind(&below).fetch_all(pool)).await?;
    Ok((answered, stages, calls))
}

pub(super) async fn in_time<T>(
    reading: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, PgError> {
    let read = Deadline::after(READ).run(reading).await;
    read.map_err(|_out_of_time| PgError::TimedOut)?.map_err(PgError::Read)
}

/// Ids end in random hexadecimal digits: those whose last two lie below this are a share of `answered` that is
/// about [`MOST`].
fn below(answered: u64) -> String {
    if answered <= MOST {
        // Behind every digit.
        return "g".to_owned();
    }
    format!("{:02x}", (MOST * 256 / answered).max(1))
}

fn requests(stages: Vec<StageRow>, calls: Vec<CallRow>) -> Vec<PastRequest> {
    let mut requests: BTreeMap<String, PastRequest> = BTreeMap::new();
    for (id, received_at_us, stage, outcome, reason, elapsed_us) in stages {
        let request = requests.entry(id).or_default();
        request.received_at_us = received_at_us;
        let took = micros(elapsed_us);
        let observed = ended(&outcome).map(|ended| Observed { took, ended });
        match stage.as_str() {
            "keyword" => request.keyword = observed,
            "embed" => request.embed = observed,
            "vector" => request.vector = observed,
            _ => {
                request.lacked_time = reason.as_deref() == Some(Reason::SkippedBudget.as_str());
                request.generate = observed;
            }
        }
    }
    for (id, model, attempt, fate, first_token_us, elapsed_us, tokens) in calls {
        let Some(request) = requests.get_mut(&id) else { continue };
        let is_whole = fate == "used"
            && request.generate.is_some_and(|generate| generate.ended == Ended::Done);
        request.calls.push(PastCall {
            model,
            attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
            first_token: first_token_us.map(micros),
            took: micros(elapsed_us),
            ended: match fate.as_str() {
                _ if is_whole => Ended::Done,
                "lost" => Ended::Failed,
                _ => Ended::Cut,
            },
            text_tokens: tokens.and_then(|tokens| u64::try_from(tokens).ok()),
        });
    }
    requests.into_values().collect()
}

/// `None` for a stage that was not started.
fn ended(outcome: &str) -> Option<Ended> {
    match outcome {
        "ok" => Some(Ended::Done),
        "cut" => Some(Ended::Cut),
        "failed" => Some(Ended::Failed),
        _ => None,
    }
}

fn micros(us: i64) -> Duration {
    Duration::from_micros(at_least_none(us))
}

fn at_least_none(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_window_is_read_in_part() {
        assert_eq!(below(0), "g");
        assert_eq!(below(MOST), "g");
        assert_eq!(below(2 * MOST), "80");
        assert_eq!(below(MOST + 1), "ff");
        assert_eq!(below(u64::from(u32::MAX)), "01");
    }
}
