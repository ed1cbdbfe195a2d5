//! The SQLite log as an outbox: with a Postgres behind it, every request in it has yet to arrive there.
//! What has arrived is removed, so the file holds no more than what is under way.

use sqlx::{FromRow, Row};

use crate::{LedgerError, Store};

/// Requests removed in one transaction: the writer waits for the disk no longer than that takes.
const TRIMMED_AT_ONCE: usize = 25;

/// Free pages of 4 KB that the file keeps for the next rows; above it they go back to the disk, 512 at a time.
const PAGES_TO_SPARE: i64 = 1024;

/// One request with its stages and calls, as JSON whose keys are the columns.
#[derive(Clone, Debug, FromRow)]
pub(crate) struct Parcel {
    pub(crate) request_id: String,
    pub(crate) received_at_us: i64,
    /// An object.
    pub(crate) request: String,
    /// An array of objects.
    pub(crate) stages: String,
    /// An array of objects.
    pub(crate) calls: String,
}

const OLDEST: &str = "
    SELECT request_id, received_at_us,
        json_object('request_id', request_id, 'received_at_us', received_at_us,
            'client_request_id', client_request_id, 'endpoint', endpoint, 'app', app, 'segment', segment,
            'lang', lang, 'budget_requested_ms', budget_requested_ms, 'budget_total_ms', budget_total_ms,
            'spent_us', spent_us, 'streamed', streamed, 'first_content_us', first_content_us, 'kind', kind,
            'degraded', degraded, 'reasons', reasons, 'model_requested', model_requested,
            'model_served', model_served, 'generation', generation, 'calibration', calibration,
            'trace', trace) AS request,
        (SELECT json_group_array(json_object('request_id', request_id, 'received_at_us', received_at_us,
            'seq', seq, 'endpoint', endpoint, 'app', app, 'stage', stage, 'outcome', outcome,
            'reason', reason, 'started_us', started_us, 'elapsed_us', elapsed_us, 'budget_us', budget_us,
            'allotted_us', allotted_us, 'paid_by', paid_by, 'attempts', attempts, 'hedged', hedged,
            'cache_hit', cache_hit))
         FROM stage_log WHERE stage_log.request_id = request_log.request_id) AS stages,
        (SELECT json_group_array(json_object('request_id', request_id, 'received_at_us', received_at_us,
            'seq', seq, 'app', app, 'model', model, 'attempt', attempt, 'fate', fate, 'reason', reason,
            'started_us', started_us, 'elapsed_us', elapsed_us, 'first_token_us', first_token_us,
            'input_tokens', input_tokens, 'cached_tokens', cached_tokens, 'output_tokens', output_tokens,
            'thinking_tokens', thinking_tokens, 'wasted_tokens', wasted_tokens,
            'cost_micros', cost_micros))
         FROM call_log WHERE call_log.request_id = request_log.request_id) AS calls
    FROM request_log ORDER BY request_id LIMIT ?";

impl Store {
    /// The oldest `most` requests, in the order of their ids, which is the order they came in.
    pub(crate) async fn oldest(&self, most: usize) -> Result<Vec<Parcel>, LedgerError> {
        sqlx::query_as(OLDEST)
            .bind(i64::try_from(most).unwrap_or(i64::MAX))
            .fetch_all(self.pool())
            .await
            .map_err(LedgerError::Read)
    }

    /// How many requests there are.
    pub(crate) async fn depth(&self) -> Result<u64, LedgerError> {
        let row = sqlx::query("SELECT count(*) FROM request_log")
            .fetch_one(self.pool())
            .await
            .map_err(LedgerError::Read)?;
        Ok(u64::try_from(row.get::<i64, _>(0)).unwrap_or(0))
    }

    /// Removes `parcels`, with their stages and calls, and tells of each few that are gone: what comes after them may
    /// fail.
    pub(crate) async fn trim(
        &self,
        parcels: &[Parcel],
        mut gone: impl FnMut(&[Parcel]),
    ) -> Result<(), LedgerError> {
        for some in parcels.chunks(TRIMMED_AT_ONCE) {
            let ids: Vec<&str> = some.iter().map(|parcel| parcel.request_id.as_str()).collect();
            let ids = serde_json::to_string(&ids).expect("strings always serialise");
            let _turn = self.turn().await;
            sqlx::query(
                "DELETE FROM request_log WHERE request_id IN (SELECT value FROM json_each(?))",
            )
            .bind(ids)
            .execute(self.pool())
            .await
            .map_err(LedgerError::Write)?;
            gone(some);
        }
        Ok(())
    }

    /// Gives some of the space of removed rows back to the disk, if there is much of it. A file from before
    /// this was so keeps its size and fills it again.
    pub(crate) async fn shrink(&self) -> Result<(), LedgerError> {
        let free: i64 = sqlx::query_scalar("PRAGMA freelist_count")
            .fetch_one(self.pool())
            .await
            .map_err(LedgerError::Read)?;
        if free < PAGES_TO_SPARE {
            return Ok(());
        }
        let _turn = self.turn().await;
        // The pragma does a step for each row that is fetched.
        let freed = sqlx::query("PRAGMA incremental_vacuum(512)").fetch_all(self.pool()).await;
        freed.map_err(LedgerError::Write)?;
        // Only then does the file itself end earlier.
        self.fold().await
    }
}
