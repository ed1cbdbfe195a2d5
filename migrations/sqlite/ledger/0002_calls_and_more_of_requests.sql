-- More of each request and stage, and one row per model call. Columns only come to be; older rows hold the
-- defaults.
ALTER TABLE request_log ADD COLUMN segment TEXT;                            -- whatever the operator tells apart
ALTER TABLE request_log ADD COLUMN streamed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE request_log ADD COLUMN first_content_us INTEGER;                -- to the first text on its way
ALTER TABLE request_log ADD COLUMN model_requested TEXT;
ALTER TABLE request_log ADD COLUMN model_served TEXT;

ALTER TABLE stage_log ADD COLUMN allotted_us INTEGER;                       -- the stage's minimum, if it has one
ALTER TABLE stage_log ADD COLUMN paid_by TEXT;                              -- where it took more than its share: the
                                                                            -- later stage that went short, or 'none'
ALTER TABLE stage_log ADD COLUMN endpoint TEXT NOT NULL DEFAULT 'answer';
ALTER TABLE stage_log ADD COLUMN attempts INTEGER NOT NULL DEFAULT 1;       -- calls made; 0 for a skipped stage
ALTER TABLE stage_log ADD COLUMN hedged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE stage_log ADD COLUMN cache_hit INTEGER NOT NULL DEFAULT 0;

UPDATE stage_log SET endpoint = (SELECT endpoint FROM request_log WHERE request_log.request_id = stage_log.request_id)
    WHERE EXISTS (SELECT 1 FROM request_log WHERE request_log.request_id = stage_log.request_id
                  AND endpoint <> 'answer');
UPDATE stage_log SET attempts = 0 WHERE outcome = 'skipped';

CREATE TABLE call_log (
    request_id      TEXT NOT NULL REFERENCES request_log (request_id) ON DELETE CASCADE,
    seq             INTEGER NOT NULL,               -- order of calling, from 0
    received_at_us  INTEGER NOT NULL,               -- the request's
    app             TEXT NOT NULL,
    model           TEXT NOT NULL,                  -- as configured
    attempt         INTEGER NOT NULL,               -- from 1
    fate            TEXT NOT NULL,                  -- used | replaced | lost | abandoned
    reason          TEXT,                           -- of a lost one
    started_us      INTEGER NOT NULL,
    elapsed_us      INTEGER NOT NULL,
    first_token_us  INTEGER,                        -- from the call to its first text
    input_tokens    INTEGER,                        -- NULL: the provider had not said
    cached_tokens   INTEGER,                        -- of the input
    output_tokens   INTEGER,                        -- text and thinking
    thinking_tokens INTEGER,                        -- of the output
    wasted_tokens   INTEGER NOT NULL DEFAULT 0,     -- input and output of a call whose text was not used
    cost_micros     INTEGER,                        -- millionths of a US dollar; NULL: no price is known
    PRIMARY KEY (request_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX call_log_by_time ON call_log (received_at_us);
