-- The latency log: one row per finished request, per stage of it, and per model call. Partitioned by UTC day
-- of the moment the request was received; that moment is part of every key, so the same row shipped twice is
-- one row. Durations are whole microseconds, counted from the request's start.
--
-- Needs PostgreSQL 14 or later.

CREATE TABLE request_log (
    received_at         timestamptz NOT NULL,
    request_id          uuid NOT NULL,              -- UUIDv7, ours
    client_request_id   text,                       -- X-Request-Id as the client sent it
    endpoint            text NOT NULL,              -- answer | search
    app                 text NOT NULL,
    segment             text,
    lang                text NOT NULL,
    budget_requested_ms bigint,
    budget_total_ms     bigint NOT NULL,
    spent_us            bigint NOT NULL,
    streamed            boolean NOT NULL,
    first_content_us    bigint,                     -- to the first text on its way
    kind                text NOT NULL,              -- generated | partial | templated | no_match | hits
    degraded            boolean NOT NULL,
    reasons             jsonb NOT NULL,             -- array of {stage, reason}
    model_requested     text,
    model_served        text,
    generation          bigint NOT NULL,
    calibration         bigint NOT NULL,            -- 0: the configured allotment
    trace               jsonb,                      -- the allotment and what was decided when
    PRIMARY KEY (received_at, request_id)
) PARTITION BY RANGE (received_at);

-- For people who hold an answer's id.
CREATE INDEX request_log_by_id ON request_log (request_id);

CREATE TABLE stage_log (
    received_at timestamptz NOT NULL,               -- the request's
    request_id  uuid NOT NULL,
    seq         smallint NOT NULL,                  -- order of reporting, from 0
    endpoint    text NOT NULL,
    app         text NOT NULL,
    stage       text NOT NULL,
    outcome     text NOT NULL,                      -- ok | skipped | cut | failed
    reason      text,
    started_us  bigint NOT NULL,
    elapsed_us  bigint NOT NULL,
    budget_us   bigint NOT NULL,                    -- given at its start
    allotted_us bigint,                             -- its minimum, if it has one
    paid_by     text,                               -- where it took more than its share: the later stage that
                                                    -- went short for it, or 'none'
    attempts    integer NOT NULL,                   -- calls made; 0 for a skipped stage
    hedged      boolean NOT NULL,
    cache_hit   boolean NOT NULL,
    PRIMARY KEY (received_at, request_id, seq)
) PARTITION BY RANGE (received_at);

-- For report.budget_eaters, which needs nothing else of the rows.
CREATE INDEX stage_log_over ON stage_log (received_at) INCLUDE (endpoint, app, stage, paid_by)
    WHERE paid_by IS NOT NULL;

CREATE TABLE call_log (
    received_at     timestamptz NOT NULL,           -- the request's
    request_id      uuid NOT NULL,
    seq             smallint NOT NULL,              -- order of calling, from 0
    app             text NOT NULL,
    model           text NOT NULL,                  -- as configured
    attempt         integer NOT NULL,               -- from 1
    fate            text NOT NULL,                  -- used | replaced | lost | abandoned
    reason          text,                           -- of a lost one
    started_us      bigint NOT NULL,
    elapsed_us      bigint NOT NULL,
    first_token_us  bigint,                         -- from the call to its first text
    input_tokens    bigint,                         -- NULL: the provider had not said
    cached_tokens   bigint,                         -- of the input
    output_tokens   bigint,                         -- text and thinking
    thinking_tokens bigint,                         -- of the output
    wasted_tokens   bigint NOT NULL,                -- input and output of a call whose text was not used
    cost_micros     bigint,                         -- millionths of a US dollar; NULL: no price is known
    PRIMARY KEY (received_at, request_id, seq)
) PARTITION BY RANGE (received_at);

-- From which UTC day on rows are kept. Earlier ones have been dropped, and late arrivals of theirs are let go.
CREATE TABLE ledger_floor (
    one  boolean PRIMARY KEY DEFAULT true CHECK (one),
    day  date NOT NULL
);
INSERT INTO ledger_floor (day) VALUES ('-infinity');

-- Closed hours whose stage rows have been counted into stage_histogram and stage_hour. A late row takes its hour out, and the
-- next maintenance counts it again.
CREATE TABLE rolled_hour (
    hour       timestamptz PRIMARY KEY,
    stage_rows bigint NOT NULL
);

-- Stage latencies of closed hours in buckets whose bounds grow by 2 %: the middle of a bucket is within 1 % of
-- every value in it, and histograms of several hours add up.
CREATE TABLE stage_histogram (
    hour    timestamptz NOT NULL,
    app     text NOT NULL,
    stage   text NOT NULL,
    outcome text NOT NULL,
    buckets smallint[] NOT NULL,
    counts  bigint[] NOT NULL,                      -- of each bucket, in the same order
    PRIMARY KEY (hour, app, stage, outcome)
);

-- Percentiles of the stages that ran in each closed hour: nearest rank, of the rows themselves.
CREATE TABLE stage_hour (
    hour   timestamptz NOT NULL,
    app    text NOT NULL,
    stage  text NOT NULL,
    n      bigint NOT NULL,
    p50_us bigint NOT NULL,
    p95_us bigint NOT NULL,
    p99_us bigint NOT NULL,
    PRIMARY KEY (hour, app, stage)
);

-- Advisory locks: (1802073953, 0) guards the retention and (1802073953, 1) the making of partitions;
-- (1802073954, n) guards the n-th hour of the Unix epoch.

-- Begins the writing of rows received in `hours`, counted from the Unix epoch: makes the partitions that are
-- missing, takes the hours out of the histograms, and keeps both as they are until the transaction ends. Gives
-- the first hour that is kept.
CREATE FUNCTION ledger_begin_batch(hours bigint[]) RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    floor_day date;
    floor_hour bigint;
    hour_number bigint;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1802073953, 0);
    SELECT ledger_floor.day INTO floor_day FROM ledger_floor;
    floor_hour := CASE WHEN isfinite(floor_day) THEN (floor_day - '1970-01-01'::date)::bigint * 24
                       ELSE 0 END;
    PERFORM ledger_make_day(day)
    FROM (SELECT DISTINCT '1970-01-01'::date + (number / 24)::integer AS day
          FROM unnest(hours) AS number WHERE number >= floor_hour) AS days
    ORDER BY day;
    FOR hour_number IN
        SELECT DISTINCT number FROM unnest(hours) AS number WHERE number >= floor_hour ORDER BY number
    LOOP
        PERFORM pg_advisory_xact_lock_shared(1802073954, hour_number::integer);
        DELETE FROM rolled_hour WHERE hour = to_timestamp(hour_number * 3600);
    END LOOP;
    RETURN floor_hour;
END $$;

-- The moment a UTC day begins.
CREATE FUNCTION ledger_day_start(day date) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT day::timestamp AT TIME ZONE 'UTC' $$;

-- The moment that lies so many microseconds after the Unix epoch.
CREATE FUNCTION ledger_moment(us bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT '1970-01-01 00:00:00+00'::timestamptz + us * interval '1 microsecond' $$;

-- Makes the partitions of one day, if they are missing. Attached rather than created in place, which would
-- keep readers and writers of the other days waiting.
CREATE FUNCTION ledger_make_day(day date) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    parent text;
    child text;
BEGIN
    IF to_regclass('call_log_' || to_char(day, 'YYYYMMDD')) IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(1802073953, 1);
    FOREACH parent IN ARRAY ARRAY['request_log', 'stage_log', 'call_log'] LOOP
        child := parent || '_' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN to_regclass(child) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE)', child, parent);
        -- Reports scan rows and hardly ever look at traces, so those lie apart.
        IF parent = 'request_log' THEN
            EXECUTE format('ALTER TABLE %I SET (toast_tuple_target = 256)', child);
        END IF;
        EXECUTE format(
            'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            parent, child, ledger_day_start(day), ledger_day_start(day + 1));
    END LOOP;
END $$;

-- Drops the days before `floor`, and histograms before `histogram_floor`. Gives how many days were dropped.
CREATE FUNCTION ledger_drop_days(floor date, histogram_floor date) RETURNS integer
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    child regclass;
    dropped integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(1802073953, 0);
    UPDATE ledger_floor SET day = floor WHERE day < floor;
    FOR child IN
        SELECT inhrelid::regclass FROM pg_inherits
        WHERE inhparent IN ('request_log'::regclass, 'stage_log'::regclass, 'call_log'::regclass)
            AND to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') < floor
    LOOP
        dropped := dropped + (left(child::text, 12) = 'request_log_')::integer;
        EXECUTE format('DROP TABLE %s', child);
    END LOOP;
    DELETE FROM stage_histogram WHERE hour < ledger_day_start(histogram_floor);
    DELETE FROM stage_hour WHERE hour < ledger_day_start(histogram_floor);
    DELETE FROM rolled_hour WHERE hour < ledger_day_start(histogram_floor);
    RETURN dropped;
END $$;

-- The bucket of a latency: 0 for nothing, else the n with 1.02^(n-2) < latency <= 1.02^(n-1).
CREATE FUNCTION ledger_bucket(elapsed_us bigint) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN elapsed_us <= 0 THEN 0
                ELSE 1 + ceil(ln(elapsed_us::double precision) / ln(1.02::double precision)) END::smallint
$$;

-- The latency that stands for a bucket, within 1 % of every one in it.
CREATE FUNCTION ledger_bucket_us(bucket smallint) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN bucket <= 0 THEN 0
                ELSE 2 * power(1.02::double precision, bucket - 1) / 2.02 END::double precision
$$;

-- Closed hours that are kept, have not been counted, and lie before `until`; the earliest first.
CREATE FUNCTION ledger_open_hours(until timestamptz) RETURNS SETOF timestamptz
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT hour
    FROM generate_series(
        (SELECT greatest(
            min(ledger_day_start(to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD'))),
            (SELECT ledger_day_start(day) FROM ledger_floor))
         FROM pg_inherits WHERE inhparent = 'stage_log'::regclass),
        until - interval '1 hour', interval '1 hour') AS hour
    WHERE NOT EXISTS (SELECT FROM rolled_hour WHERE rolled_hour.hour = hour.hour)
    ORDER BY hour
$$;

-- Counts one closed hour into the histograms, whatever was counted of it before.
CREATE FUNCTION ledger_roll_hour(closed timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    -- What has been dropped stays as it was counted.
    PERFORM pg_advisory_xact_lock_shared(1802073953, 0);
    IF closed < (SELECT ledger_day_start(day) FROM ledger_floor) THEN
        RETURN;
    END IF;
    -- Rows on their way into this hour arrive first, or come after and take the hour out again.
    PERFORM pg_advisory_xact_lock(1802073954, (extract(epoch FROM closed) / 3600)::integer);
    DELETE FROM stage_histogram WHERE hour = closed;
    INSERT INTO stage_histogram (hour, app, stage, outcome, buckets, counts)
    SELECT closed, app, stage, outcome, array_agg(bucket ORDER BY bucket), array_agg(n ORDER BY bucket)
    FROM (
        SELECT app, stage, outcome, ledger_bucket(elapsed_us) AS bucket, count(*) AS n
        FROM stage_log
        WHERE received_at >= closed AND received_at < closed + interval '1 hour'
        GROUP BY app, stage, outcome, ledger_bucket(elapsed_us)
    ) AS buckets
    GROUP BY app, stage, outcome;
    DELETE FROM stage_hour WHERE hour = closed;
    INSERT INTO stage_hour (hour, app, stage, n, p50_us, p95_us, p99_us)
    SELECT closed, app, stage, n, us[(n * 50 + 99) / 100], us[(n * 95 + 99) / 100], us[(n * 99 + 99) / 100]
    FROM (
        SELECT app, stage, count(*) AS n, array_agg(elapsed_us ORDER BY elapsed_us) AS us
        FROM stage_log
        WHERE received_at >= closed AND received_at < closed + interval '1 hour' AND outcome <> 'skipped'
        GROUP BY app, stage
    ) AS ran;
    INSERT INTO rolled_hour (hour, stage_rows)
    SELECT closed, coalesce(sum((SELECT sum(n) FROM unnest(counts) AS n)), 0)
    FROM stage_histogram WHERE hour = closed
    ON CONFLICT (hour) DO UPDATE SET stage_rows = excluded.stage_rows;
END $$;
