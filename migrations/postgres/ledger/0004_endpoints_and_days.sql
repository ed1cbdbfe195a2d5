-- Answers and searches are told apart in what is counted of the stages, and in the reports over it: a search has a
-- budget of its own, and the latencies of both together are those of neither. And the hours of a day that is over are
-- added up once, not by everybody who looks at many days.

-- Hours whose rows are still there are counted again. Of the others nobody can say any more what they hold.
ALTER TABLE stage_histogram ADD COLUMN endpoint text NOT NULL DEFAULT 'both';
ALTER TABLE stage_hour ADD COLUMN endpoint text NOT NULL DEFAULT 'both';
ALTER TABLE stage_histogram ALTER COLUMN endpoint DROP DEFAULT;
ALTER TABLE stage_hour ALTER COLUMN endpoint DROP DEFAULT;
ALTER TABLE stage_histogram DROP CONSTRAINT stage_histogram_pkey, ADD PRIMARY KEY (hour, endpoint, app, stage, outcome);
ALTER TABLE stage_hour DROP CONSTRAINT stage_hour_pkey, ADD PRIMARY KEY (hour, endpoint, app, stage);
DELETE FROM rolled_hour WHERE hour >= (
    SELECT min(ledger_day_start(to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD')))
    FROM pg_inherits WHERE inhparent = 'stage_log'::regclass);

-- The histograms of a day all of whose hours have been counted. Whoever takes one of these hours out takes the day out
-- of rolled_day too, so that what is there is always the sum of its hours.
CREATE TABLE rolled_day (
    day timestamptz PRIMARY KEY
);

CREATE TABLE stage_day_histogram (
    day      timestamptz NOT NULL,
    endpoint text NOT NULL,
    app      text NOT NULL,
    stage    text NOT NULL,
    outcome  text NOT NULL,
    buckets  smallint[] NOT NULL,
    counts   bigint[] NOT NULL,                     -- of each bucket, in the same order
    PRIMARY KEY (day, endpoint, app, stage, outcome)
);

-- The moment the UTC day of a moment begins.
CREATE FUNCTION ledger_day_of(moment timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT date_bin('1 day', moment, '1970-01-01 00:00:00+00'::timestamptz) $$;

-- Begins the writing of rows received in `hours`, counted from the Unix epoch: makes the partitions that are
-- missing, takes the hours out of the histograms, and keeps both as they are until the transaction ends. Gives
-- the first hour that is kept.
CREATE OR REPLACE FUNCTION ledger_begin_batch(hours bigint[]) RETURNS bigint
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
        DELETE FROM rolled_day WHERE day = ledger_day_of(to_timestamp(hour_number * 3600));
        DELETE FROM rolled_hour WHERE hour = to_timestamp(hour_number * 3600);
    END LOOP;
    RETURN floor_hour;
END $$;

-- Drops the days before `floor`, and histograms before `histogram_floor`. Gives how many days were dropped.
CREATE OR REPLACE FUNCTION ledger_drop_days(floor date, histogram_floor date) RETURNS integer
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
    DELETE FROM stage_day_histogram WHERE day < ledger_day_start(histogram_floor);
    DELETE FROM rolled_day WHERE day < ledger_day_start(histogram_floor);
    DELETE FROM stage_histogram WHERE hour < ledger_day_start(histogram_floor);
    DELETE FROM stage_hour WHERE hour < ledger_day_start(histogram_floor);
    DELETE FROM rolled_hour WHERE hour < ledger_day_start(histogram_floor);
    RETURN dropped;
END $$;

-- Days all of whose hours have been counted, but which have not been added up; the earliest first.
CREATE FUNCTION ledger_open_days() RETURNS SETOF timestamptz
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT days.day
    FROM (SELECT ledger_day_of(hour) AS day FROM rolled_hour GROUP BY ledger_day_of(hour) HAVING count(*) = 24) AS days
    WHERE NOT EXISTS (SELECT FROM rolled_day WHERE rolled_day.day = days.day)
    ORDER BY days.day
$$;

-- Adds up the hours of a day, if all of them have been counted.
CREATE FUNCTION ledger_roll_day(closed timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1802073953, 0);
    -- None of its hours is taken out or counted again meanwhile.
    PERFORM pg_advisory_xact_lock(1802073954, (extract(epoch FROM hour) / 3600)::integer)
    FROM generate_series(closed, closed + interval '23 hours', interval '1 hour') AS hour;
    IF (SELECT count(*) FROM rolled_hour WHERE hour >= closed AND hour < closed + interval '1 day') < 24 THEN
        RETURN;
    END IF;
    DELETE FROM stage_day_histogram WHERE day = closed;
    INSERT INTO stage_day_histogram (day, endpoint, app, stage, outcome, buckets, counts)
    SELECT closed, endpoint, app, stage, outcome, array_agg(bucket ORDER BY bucket), array_agg(n ORDER BY bucket)
    FROM (
        SELECT endpoint, app, stage, outcome, held.bucket, sum(held.n)::bigint AS n
        FROM stage_histogram CROSS JOIN unnest(buckets, counts) AS held (bucket, n)
        WHERE hour >= closed AND hour < closed + interval '1 day'
        GROUP BY endpoint, app, stage, outcome, held.bucket
    ) AS buckets
    GROUP BY endpoint, app, stage, outcome;
    INSERT INTO rolled_day (day) VALUES (closed) ON CONFLICT DO NOTHING;
END $$;

-- Counts one closed hour into the histograms, whatever was counted of it before.
CREATE OR REPLACE FUNCTION ledger_roll_hour(closed timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    -- What has been dropped stays as it was counted.
    PERFORM pg_advisory_xact_lock_shared(1802073953, 0);
    IF closed < (SELECT ledger_day_start(day) FROM ledger_floor) THEN
        RETURN;
    END IF;
    -- Rows on their way into this hour arrive first, or come after and take the hour out again.
    PERFORM pg_advisory_xact_lock(1802073954, (extract(epoch FROM closed) / 3600)::integer);
    DELETE FROM rolled_day WHERE day = ledger_day_of(closed);
    DELETE FROM stage_histogram WHERE hour = closed;
    INSERT INTO stage_histogram (hour, endpoint, app, stage, outcome, buckets, counts)
    SELECT closed, endpoint, app, stage, outcome, array_agg(bucket ORDER BY bucket), array_agg(n ORDER BY bucket)
    FROM (
        SELECT endpoint, app, stage, outcome, ledger_bucket(elapsed_us) AS bucket, count(*) AS n
        FROM stage_log
        WHERE received_at >= closed AND received_at < closed + interval '1 hour'
        GROUP BY endpoint, app, stage, outcome, ledger_bucket(elapsed_us)
    ) AS buckets
    GROUP BY endpoint, app, stage, outcome;
    DELETE FROM stage_hour WHERE hour = closed;
    INSERT INTO stage_hour (hour, endpoint, app, stage, n, p50_us, p95_us, p99_us)
    SELECT closed, endpoint, app, stage, n, us[(n * 50 + 99) / 100], us[(n * 95 + 99) / 100],
           us[(n * 99 + 99) / 100]
    FROM (
        SELECT endpoint, app, stage, count(*) AS n, array_agg(elapsed_us ORDER BY elapsed_us) AS us
        FROM stage_log
        WHERE received_at >= closed AND received_at < closed + interval '1 hour' AND outcome <> 'skipped'
        GROUP BY endpoint, app, stage
    ) AS ran;
    INSERT INTO rolled_hour (hour, stage_rows)
    SELECT closed, coalesce(sum((SELECT sum(n) FROM unnest(counts) AS n)), 0)
    FROM stage_histogram WHERE hour = closed
    ON CONFLICT (hour) DO UPDATE SET stage_rows = excluded.stage_rows;
END $$;

DROP VIEW report.stages;
DROP VIEW report.stage_latency;
DROP FUNCTION report.stages(timestamptz, text);
DROP FUNCTION report.stage_latency(timestamptz, text, text);
DROP FUNCTION report.read_latency(timestamptz, text, text);
DROP FUNCTION report.counted_latency(timestamptz, text, text);
DROP FUNCTION report.raw_stages(timestamptz, text);
DROP FUNCTION report.counted_stages(timestamptz, text);

-- The rows of the spans that are read themselves.
CREATE FUNCTION report.raw_stages(since timestamptz, only_app text)
RETURNS TABLE (hour timestamptz, app text, endpoint text, stage text, outcome text, elapsed_us bigint)
LANGUAGE sql STABLE AS $$
    SELECT report.hour_of(log.received_at), log.app, log.endpoint, log.stage, log.outcome, log.elapsed_us
    FROM report.stage_spans(since) AS span
    CROSS JOIN LATERAL (
        SELECT * FROM stage_log
        WHERE received_at >= span.starts_at AND received_at < span.ends_at
            AND (only_app IS NULL OR stage_log.app = only_app)
    ) AS log
    WHERE span.is_raw
$$;

-- The buckets of the spans that have been counted, of whole days where these have been added up and of hours
-- elsewhere; `starts_at` is the day's or the hour's. `endpoint` is 'both' in hours that were counted before answers and
-- searches were told apart, and whose rows are gone.
CREATE FUNCTION report.counted_stages(since timestamptz, only_app text)
RETURNS TABLE (starts_at timestamptz, app text, endpoint text, stage text, outcome text, bucket smallint, n bigint)
LANGUAGE sql STABLE AS $$
    WITH spans AS MATERIALIZED (
        SELECT starts_at, ends_at FROM report.stage_spans(since) WHERE NOT is_raw
    ), days AS MATERIALIZED (
        SELECT rolled_day.day FROM rolled_day
        JOIN spans ON rolled_day.day >= spans.starts_at AND rolled_day.day + interval '24 hours' <= spans.ends_at
    )
    SELECT log.day, log.app, log.endpoint, log.stage, log.outcome, held.bucket, held.n
    FROM days JOIN stage_day_histogram AS log ON log.day = days.day
    CROSS JOIN unnest(log.buckets, log.counts) AS held (bucket, n)
    WHERE only_app IS NULL OR log.app = only_app
    UNION ALL
    SELECT log.hour, log.app, log.endpoint, log.stage, log.outcome, held.bucket, held.n
    FROM spans JOIN stage_histogram AS log ON log.hour >= spans.starts_at AND log.hour < spans.ends_at
    CROSS JOIN unnest(log.buckets, log.counts) AS held (bucket, n)
    WHERE (only_app IS NULL OR log.app = only_app)
        AND NOT EXISTS (SELECT FROM days WHERE days.day = ledger_day_of(log.hour))
$$;

-- Latencies and outcomes per endpoint and stage.
CREATE FUNCTION report.stages(since timestamptz DEFAULT now() - interval '7 days', only_app text DEFAULT NULL)
RETURNS TABLE (endpoint text, stage text, count bigint, p50_ms double precision, p95_ms double precision,
               p99_ms double precision, ok double precision, skipped double precision,
               cut double precision, failed double precision)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off SET work_mem = '64MB' AS $$
    WITH by_value AS (
        SELECT endpoint, stage, outcome, elapsed_us::double precision AS elapsed_us, count(*) AS n
        FROM report.raw_stages(since, only_app) GROUP BY endpoint, stage, outcome, elapsed_us
        UNION ALL
        SELECT endpoint, stage, outcome, ledger_bucket_us(bucket), sum(n)::bigint
        FROM report.counted_stages(since, only_app) GROUP BY endpoint, stage, outcome, bucket
    ), ran AS (
        SELECT endpoint, stage, elapsed_us, n,
               sum(n) OVER (PARTITION BY endpoint, stage ORDER BY elapsed_us) AS rank,
               sum(n) OVER (PARTITION BY endpoint, stage) AS total
        FROM by_value WHERE outcome <> 'skipped'
    ), percentiles AS (
        SELECT endpoint, stage,
               min(elapsed_us) FILTER (WHERE rank * 100 >= total * 50) / 1000 AS p50_ms,
               min(elapsed_us) FILTER (WHERE rank * 100 >= total * 95) / 1000 AS p95_ms,
               min(elapsed_us) FILTER (WHERE rank * 100 >= total * 99) / 1000 AS p99_ms
        FROM ran GROUP BY endpoint, stage
    ), shares AS (
        SELECT endpoint, stage, sum(n)::double precision AS n,
               coalesce(sum(n) FILTER (WHERE outcome = 'ok'), 0)::double precision AS ok,
               coalesce(sum(n) FILTER (WHERE outcome = 'skipped'), 0)::double precision AS skipped,
               coalesce(sum(n) FILTER (WHERE outcome = 'cut'), 0)::double precision AS cut,
               coalesce(sum(n) FILTER (WHERE outcome = 'failed'), 0)::double precision AS failed
        FROM by_value GROUP BY endpoint, stage
    )
    SELECT endpoint, stage, n::bigint, p50_ms, p95_ms, p99_ms, ok / n, skipped / n, cut / n, failed / n
    FROM shares LEFT JOIN percentiles USING (endpoint, stage)
    ORDER BY endpoint, report.stage_rank(stage), stage
$$;

-- Latencies of the stages that ran, by app, endpoint and stage: per hour, per day and over the whole window. Rows
-- with `is_exact` are percentiles of the rows themselves; the others are within 1 %.
CREATE FUNCTION report.stage_latency(since timestamptz DEFAULT now() - interval '7 days',
                                     only_app text DEFAULT NULL, only_per text DEFAULT NULL)
RETURNS TABLE (per text, starts_at timestamptz, app text, endpoint text, stage text, n bigint,
               p50_ms double precision, p95_ms double precision, p99_ms double precision,
               tail_ratio double precision, is_exact boolean)
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET jit = off AS $$
#variable_conflict use_column
DECLARE
    reads text := CASE WHEN EXISTS (SELECT FROM report.stage_spans(since) WHERE is_all)
        THEN 'report.read_latency' ELSE 'report.counted_latency' END;
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT per, starts_at, app, endpoint, stage, n, p50_us / 1000, p95_us / 1000, p99_us / 1000,
                p99_us / nullif(p50_us, 0), is_exact
         FROM %s($1, $2, $3)
         ORDER BY array_position(ARRAY[''hour'', ''day'', ''window''], per), starts_at, app, endpoint,
                  report.stage_rank(stage), stage', reads)
    USING since, only_app, only_per;
END $$;

-- report.stage_latency where the rows are few.
CREATE FUNCTION report.read_latency(since timestamptz, only_app text, only_per text)
RETURNS TABLE (per text, starts_at timestamptz, app text, endpoint text, stage text, n bigint,
               p50_us double precision, p95_us double precision, p99_us double precision, is_exact boolean)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off SET work_mem = '64MB' AS $$
    WITH ran AS MATERIALIZED (
        SELECT hour, app, endpoint, stage, elapsed_us FROM report.raw_stages(since, only_app)
        WHERE outcome <> 'skipped'
    ), every AS (
        SELECT 'hour' AS per, hour AS starts_at, app, endpoint, stage, count(*) AS n,
               array_agg(elapsed_us ORDER BY elapsed_us) AS us
        FROM ran WHERE only_per IS NULL OR only_per = 'hour' GROUP BY hour, app, endpoint, stage
        UNION ALL
        SELECT 'day', report.day_of(hour), app, endpoint, stage, count(*),
               array_agg(elapsed_us ORDER BY elapsed_us)
        FROM ran WHERE only_per IS NULL OR only_per = 'day' GROUP BY report.day_of(hour), app, endpoint, stage
        UNION ALL
        SELECT 'window', since, app, endpoint, stage, count(*), array_agg(elapsed_us ORDER BY elapsed_us)
        FROM ran WHERE only_per IS NULL OR only_per = 'window' GROUP BY app, endpoint, stage
    )
    SELECT per, starts_at, app, endpoint, stage, n, us[(n * 50 + 99) / 100], us[(n * 95 + 99) / 100],
           us[(n * 99 + 99) / 100], true
    FROM every
$$;

-- report.stage_latency where the rows are many: closed hours as they were counted, days and the window from
-- histograms added up.
CREATE FUNCTION report.counted_latency(since timestamptz, only_app text, only_per text)
RETURNS TABLE (per text, starts_at timestamptz, app text, endpoint text, stage text, n bigint,
               p50_us double precision, p95_us double precision, p99_us double precision, is_exact boolean)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off SET work_mem = '64MB' AS $$
    WITH open_hours AS MATERIALIZED (
        SELECT hour, app, endpoint, stage, ledger_bucket(elapsed_us) AS bucket, count(*) AS n
        FROM report.raw_stages(since, only_app) WHERE outcome <> 'skipped'
        GROUP BY hour, app, endpoint, stage, ledger_bucket(elapsed_us)
    ), days AS MATERIALIZED (
        SELECT report.day_of(hour) AS day, app, endpoint, stage, bucket, sum(n)::bigint AS n
        FROM (
            SELECT hour, app, endpoint, stage, bucket, n FROM open_hours
            UNION ALL
            SELECT starts_at, app, endpoint, stage, bucket, n FROM report.counted_stages(since, only_app)
            WHERE outcome <> 'skipped'
        ) AS hours
        WHERE only_per IS NULL OR only_per IN ('day', 'window')
        GROUP BY report.day_of(hour), app, endpoint, stage, bucket
    ), every AS (
        SELECT 'hour' AS per, hour AS starts_at, app, endpoint, stage, bucket, n FROM open_hours
        WHERE only_per IS NULL OR only_per = 'hour'
        UNION ALL
        SELECT 'day', day, app, endpoint, stage, bucket, n FROM days WHERE only_per IS NULL OR only_per = 'day'
        UNION ALL
        SELECT 'window', since, app, endpoint, stage, bucket, sum(n)::bigint FROM days
        WHERE only_per IS NULL OR only_per = 'window' GROUP BY app, endpoint, stage, bucket
    ), ranked AS (
        SELECT *, sum(n) OVER (PARTITION BY per, starts_at, app, endpoint, stage ORDER BY bucket)::bigint AS rank,
               sum(n) OVER (PARTITION BY per, starts_at, app, endpoint, stage)::bigint AS total
        FROM every
    )
    SELECT per, starts_at, app, endpoint, stage, max(total),
           ledger_bucket_us(min(bucket) FILTER (WHERE rank * 100 >= total * 50)),
           ledger_bucket_us(min(bucket) FILTER (WHERE rank * 100 >= total * 95)),
           ledger_bucket_us(min(bucket) FILTER (WHERE rank * 100 >= total * 99)), false
    FROM ranked GROUP BY per, starts_at, app, endpoint, stage
    UNION ALL
    SELECT 'hour', hours.hour, hours.app, hours.endpoint, hours.stage, hours.n, hours.p50_us, hours.p95_us,
           hours.p99_us, true
    FROM report.stage_spans(since) AS span
    JOIN stage_hour AS hours ON hours.hour >= span.starts_at AND hours.hour < span.ends_at
    WHERE NOT span.is_raw AND (only_per IS NULL OR only_per = 'hour')
        AND (only_app IS NULL OR hours.app = only_app)
$$;

CREATE VIEW report.stages AS SELECT * FROM report.stages();
CREATE VIEW report.stage_latency AS SELECT * FROM report.stage_latency();
