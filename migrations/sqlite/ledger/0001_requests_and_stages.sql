-- One row per finished request and one per stage. Times are whole microseconds; moments count from the
-- Unix epoch, durations from the request's start.
CREATE TABLE request_log (
    request_id          TEXT PRIMARY KEY,           -- UUIDv7, ours
    client_request_id   TEXT,                       -- X-Request-Id as the client sent it
    endpoint            TEXT NOT NULL,              -- answer | search
    app                 TEXT NOT NULL,
    lang                TEXT NOT NULL,
    received_at_us      INTEGER NOT NULL,
    budget_requested_ms INTEGER,
    budget_total_ms     INTEGER NOT NULL,
    spent_us            INTEGER NOT NULL,
    kind                TEXT NOT NULL,              -- generated | partial | templated | no_match | hits
    degraded            INTEGER NOT NULL,
    reasons             TEXT NOT NULL,              -- JSON array of {stage, reason}
    generation          INTEGER NOT NULL,
    calibration         INTEGER NOT NULL,           -- 0: the configured allotment
    trace               TEXT NOT NULL               -- JSON: the allotment and what was decided when
) STRICT, WITHOUT ROWID;

CREATE INDEX request_log_by_time ON request_log (received_at_us);

CREATE TABLE stage_log (
    request_id     TEXT NOT NULL REFERENCES request_log (request_id) ON DELETE CASCADE,
    seq            INTEGER NOT NULL,                -- order of reporting, from 0
    received_at_us INTEGER NOT NULL,                -- the request's, so that reports need no join
    app            TEXT NOT NULL,
    stage          TEXT NOT NULL,
    outcome        TEXT NOT NULL,                   -- ok | skipped | cut | failed
    reason         TEXT,
    started_us     INTEGER NOT NULL,
    elapsed_us     INTEGER NOT NULL,
    budget_us      INTEGER NOT NULL,
    PRIMARY KEY (request_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX stage_log_by_time ON stage_log (received_at_us, stage, elapsed_us);
