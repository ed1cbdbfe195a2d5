-- Reports over the latency log. Each is a function of (since, only_app) and, with its defaults, a view of the
-- last seven days. Hours and days are UTC's, so no clock change doubles or loses one. Percentiles are nearest
-- rank: the least value with at least that share at or below it.
CREATE SCHEMA report;

-- The hour or day that a moment lies in.
CREATE FUNCTION report.hour_of(moment timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT date_bin('1 hour', moment, '1970-01-01 00:00:00+00'::timestamptz) $$;

CREATE FUNCTION report.day_of(moment timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT date_bin('1 day', moment, '1970-01-01 00:00:00+00'::timestamptz) $$;

-- The pipeline's order.
CREATE FUNCTION report.stage_rank(stage text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT coalesce(array_position(
        ARRAY['normalize', 'keyword', 'embed', 'vector', 'generate', 'template'], stage), 7) $$;

-- From where the stage rows since a moment are read: spans of stage_log itself, and spans of closed hours that
-- have been counted. A window of at most 200,000 rows is read itself: one span, `is_all` true. `SET
-- kiwari.exact_rows = n` draws the line elsewhere.
CREATE FUNCTION report.stage_spans(since timestamptz)
RETURNS TABLE (is_all boolean, is_raw boolean, starts_at timestamptz, ends_at timestamptz)
LANGUAGE plpgsql STABLE ROWS 4 SET search_path FROM CURRENT SET jit = off AS $$
DECLARE
    few CONSTANT bigint := coalesce(nullif(current_setting('kiwari.exact_rows', true), ''), '200000')::bigint;
    kept_from timestamptz;
    counted bigint;
    counted_only bigint;
BEGIN
    SELECT coalesce(min(ledger_day_start(to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD'))), 'infinity')
    INTO kept_from FROM pg_inherits WHERE inhparent = 'stage_log'::regclass;
    SELECT coalesce(sum(stage_rows), 0), coalesce(sum(stage_rows) FILTER (WHERE hour < kept_from), 0)
    INTO counted, counted_only FROM rolled_hour WHERE hour >= report.hour_of(since);
    IF counted <= few AND counted_only = 0 THEN
        RETURN QUERY SELECT true, true, since, 'infinity'::timestamptz;
        RETURN;
    END IF;
    RETURN QUERY
    WITH hours AS (
        -- An hour that the window begins in the middle of is read itself, while there is something to read.
        SELECT hour, NOT EXISTS (
            SELECT FROM rolled_hour
            WHERE rolled_hour.hour = every.hour AND (every.hour >= since OR every.hour < kept_from)) AS raw
        FROM generate_series(
            greatest(report.hour_of(since), (SELECT min(rolled_hour.hour) FROM rolled_hour)),
            report.hour_of(now()), interval '1 hour') AS every (hour)
    ), islands AS (
        SELECT hour, raw, hour - interval '1 hour' * row_number() OVER (PARTITION BY raw ORDER BY hour) AS island
        FROM hours
    )
    SELECT false, raw, CASE WHEN raw THEN greatest(min(hour), since) ELSE min(hour) END,
           -- Rows of clocks that are ahead of the database's count too.
           CASE WHEN raw AND max(hour) = report.hour_of(now()) THEN 'infinity'
                ELSE max(hour) + interval '1 hour' END
    FROM islands GROUP BY raw, island;
END $$;

-- The rows of the spans that are read themselves.
CREATE FUNCTION report.raw_stages(since timestamptz, only_app text)
RETURNS TABLE (is_all boolean, hour timestamptz, app text, stage text, outcome text, elapsed_us bigint)
LANGUAGE sql STABLE AS $$
    SELECT span.is_all, report.hour_of(log.received_at), log.app, log.stage, log.outcome, log.elapsed_us
    FROM report.stage_spans(since) AS span
    CROSS JOIN LATERAL (
        SELECT * FROM stage_log
        WHERE received_at >= span.starts_at AND received_at < span.ends_at
            AND (only_app IS NULL OR stage_log.app = only_app)
    ) AS log
    WHERE span.is_raw
$$;

-- The buckets of the spans that have been counted.
CREATE FUNCTION report.counted_stages(since timestamptz, only_app text)
RETURNS TABLE (hour timestamptz, app text, stage text, outcome text, bucket smallint, n bigint)
LANGUAGE sql STABLE AS $$
    SELECT log.hour, log.app, log.stage, log.outcome, held.bucket, held.n
    FROM report.stage_spans(since) AS span
    JOIN stage_histogram AS log ON log.hour >= span.starts_at AND log.hour < span.ends_at
    CROSS JOIN unnest(log.buckets, log.counts) AS held (bucket, n)
    WHERE NOT span.is_raw AND (only_app IS NULL OR log.app = only_app)
$$;

-- Latencies and outcomes per stage.
CREATE FUNCTION report.stages(since timestamptz DEFAULT now() - interval '7 days', only_app text DEFAULT NULL)
RETURNS TABLE (stage text, count bigint, p50_ms double precision, p95_ms double precision,
               p99_ms double precision, ok double precision, skipped double precision,
               cut double precision, failed double precision)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off SET work_mem = '64MB' AS $$
    WITH by_value AS (
        SELECT stage, outcome, elapsed_us::double precision AS elapsed_us, count(*) AS n
        FROM report.raw_stages(since, only_app) GROUP BY stage, outcome, elapsed_us
        UNION ALL
        SELECT stage, outcome, ledger_bucket_us(bucket), sum(n)::bigint
        FROM report.counted_stages(since, only_app) GROUP BY stage, outcome, bucket
    ), ran AS (
        SELECT stage, elapsed_us, n,
               sum(n) OVER (PARTITION BY stage ORDER BY elapsed_us) AS rank,
               sum(n) OVER (PARTITION BY stage) AS total
        FROM by_value WHERE outcome <> 'skipped'
    ), percentiles AS (
        SELECT stage,
               min(elapsed_us) FILTER (WHERE rank * 100 >= total * 50) / 1000 AS p50_ms,
               min(elapsed_us) FILTER (WHERE rank * 100 >= total * 95) / 1000 AS p95_ms,
               min(elapsed_us) FILTER (WHERE rank * 100 >= total * 99) / 1000 AS p99_ms
        FROM ran GROUP BY stage
    ), shares AS (
        SELECT stage, sum(n)::double precision AS n,
               coalesce(sum(n) FILTER (WHERE outcome = 'ok'), 0)::double precision AS ok,
               coalesce(sum(n) FILTER (WHERE outcome = 'skipped'), 0)::double precision AS skipped,
               coalesce(sum(n) FILTER (WHERE outcome = 'cut'), 0)::double precision AS cut,
               coalesce(sum(n) FILTER (WHERE outcome = 'failed'), 0)::double precision AS failed
        FROM by_value GROUP BY stage
    )
    SELECT stage, n::bigint, p50_ms, p95_ms, p99_ms, ok / n, skipped / n, cut / n, failed / n
    FROM shares LEFT JOIN percentiles USING (stage)
    ORDER BY report.stage_rank(stage), stage
$$;

-- Latencies of the stages that ran, by app and stage: per hour, per day and over the whole window. Rows with
-- `is_exact` are percentiles of the rows themselves; the others are within 1 %.
CREATE FUNCTION report.stage_latency(since timestamptz DEFAULT now() - interval '7 days',
                                     only_app text DEFAULT NULL, only_per text DEFAULT NULL)
RETURNS TABLE (per text, starts_at timestamptz, app text, stage text, n bigint,
               p50_ms double precision, p95_ms double precision, p99_ms double precision,
               tail_ratio double precision, is_exact boolean)
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET jit = off AS $$
#variable_conflict use_column
DECLARE
    reads text := CASE WHEN EXISTS (SELECT FROM report.stage_spans(since) WHERE is_all)
        THEN 'report.read_latency' ELSE 'report.counted_latency' END;
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT per, starts_at, app, stage, n, p50_us / 1000, p95_us / 1000, p99_us / 1000,
                p99_us / nullif(p50_us, 0), is_exact
         FROM %s($1, $2, $3)
         ORDER BY array_position(ARRAY[''hour'', ''day'', ''window''], per), starts_at, app,
                  report.stage_rank(stage), stage', reads)
    USING since, only_app, only_per;
END $$;

-- report.stage_latency where the rows are few.
CREATE FUNCTION report.read_latency(since timestamptz, only_app text, only_per text)
RETURNS TABLE (per text, starts_at timestamptz, app text, stage text, n bigint, p50_us double precision,
               p95_us double precision, p99_us double precision, is_exact boolean)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off SET work_mem = '64MB' AS $$
    WITH ran AS MATERIALIZED (
        SELECT hour, app, stage, elapsed_us FROM report.raw_stages(since, only_app) WHERE outcome <> 'skipped'
    ), every AS (
        SELECT 'hour' AS per, hour AS starts_at, app, stage, count(*) AS n,
               array_agg(elapsed_us ORDER BY elapsed_us) AS us
        FROM ran WHERE only_per IS NULL OR only_per = 'hour' GROUP BY hour, app, stage
        UNION ALL
        SELECT 'day', report.day_of(hour), app, stage, count(*), array_agg(elapsed_us ORDER BY elapsed_us)
        FROM ran WHERE only_per IS NULL OR only_per = 'day' GROUP BY report.day_of(hour), app, stage
        UNION ALL
        SELECT 'window', since, app, stage, count(*), array_agg(elapsed_us ORDER BY elapsed_us)
        FROM ran WHERE only_per IS NULL OR only_per = 'window' GROUP BY app, stage
    )
    SELECT per, starts_at, app, stage, n, us[(n * 50 + 99) / 100], us[(n * 95 + 99) / 100],
           us[(n * 99 + 99) / 100], true
    FROM every
$$;

-- report.stage_latency where the rows are many: closed hours as they were counted, days and the window from
-- histograms added up.
CREATE FUNCTION report.counted_latency(since timestamptz, only_app text, only_per text)
RETURNS TABLE (per text, starts_at timestamptz, app text, stage text, n bigint, p50_us double precision,
               p95_us double precision, p99_us double precision, is_exact boolean)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off SET work_mem = '64MB' AS $$
    WITH open_hours AS MATERIALIZED (
        SELECT hour, app, stage, ledger_bucket(elapsed_us) AS bucket, count(*) AS n
        FROM report.raw_stages(since, only_app) WHERE outcome <> 'skipped'
        GROUP BY hour, app, stage, ledger_bucket(elapsed_us)
    ), days AS MATERIALIZED (
        SELECT report.day_of(hour) AS day, app, stage, bucket, sum(n)::bigint AS n
        FROM (
            SELECT hour, app, stage, bucket, n FROM open_hours
            UNION ALL
            SELECT hour, app, stage, bucket, n FROM report.counted_stages(since, only_app)
            WHERE outcome <> 'skipped'
        ) AS hours
        WHERE only_per IS NULL OR only_per IN ('day', 'window')
        GROUP BY report.day_of(hour), app, stage, bucket
    ), every AS (
        SELECT 'hour' AS per, hour AS starts_at, app, stage, bucket, n FROM open_hours
        WHERE only_per IS NULL OR only_per = 'hour'
        UNION ALL
        SELECT 'day', day, app, stage, bucket, n FROM days WHERE only_per IS NULL OR only_per = 'day'
        UNION ALL
        SELECT 'window', since, app, stage, bucket, sum(n)::bigint FROM days
        WHERE only_per IS NULL OR only_per = 'window' GROUP BY app, stage, bucket
    ), ranked AS (
        SELECT *, sum(n) OVER (PARTITION BY per, starts_at, app, stage ORDER BY bucket)::bigint AS rank,
               sum(n) OVER (PARTITION BY per, starts_at, app, stage)::bigint AS total
        FROM every
    )
    SELECT per, starts_at, app, stage, max(total),
           ledger_bucket_us(min(bucket) FILTER (WHERE rank * 100 >= total * 50)),
           ledger_bucket_us(min(bucket) FILTER (WHERE rank * 100 >= total * 95)),
           ledger_bucket_us(min(bucket) FILTER (WHERE rank * 100 >= total * 99)), false
    FROM ranked GROUP BY per, starts_at, app, stage
    UNION ALL
    SELECT 'hour', stage_hour.hour, stage_hour.app, stage_hour.stage, stage_hour.n, stage_hour.p50_us,
           stage_hour.p95_us, stage_hour.p99_us, true
    FROM report.stage_spans(since) AS span
    JOIN stage_hour ON stage_hour.hour >= span.starts_at AND stage_hour.hour < span.ends_at
    WHERE NOT span.is_raw AND (only_per IS NULL OR only_per = 'hour')
        AND (only_app IS NULL OR stage_hour.app = only_app)
$$;

-- Which stages took more than their allotment, and which later stage paid for it. A stage is over when it ran
-- longer than its minimum (embed, vector) or was cut at the end of what it had been given; the one that pays is
-- the first later one that was cut, or not started for want of time. Shares are of the app's answers.
CREATE FUNCTION report.budget_eaters(since timestamptz DEFAULT now() - interval '7 days',
                                     only_app text DEFAULT NULL)
RETURNS TABLE (app text, stage text, paid_by text, n bigint, share double precision)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off AS $$
    WITH answers AS (
        SELECT app, count(*) AS n FROM request_log
        WHERE received_at >= since AND endpoint = 'answer' AND (only_app IS NULL OR app = only_app)
        GROUP BY app
    ), eaters AS (
        SELECT app, stage, paid_by, count(*) AS n FROM stage_log
        WHERE received_at >= since AND paid_by IS NOT NULL AND endpoint = 'answer'
            AND (only_app IS NULL OR app = only_app)
        GROUP BY app, stage, paid_by
    )
    SELECT app, stage, paid_by, eaters.n, eaters.n::double precision / answers.n
    FROM eaters JOIN answers USING (app)
    ORDER BY app, report.stage_rank(stage), stage, report.stage_rank(paid_by)
$$;

-- Why answers and searches were less than full. Shares are of the app's requests at that endpoint; reasons that
-- only inform have `degrades` false.
CREATE FUNCTION report.degradations(since timestamptz DEFAULT now() - interval '7 days',
                                    only_app text DEFAULT NULL)
RETURNS TABLE (app text, endpoint text, stage text, reason text, degrades boolean, n bigint,
               share double precision)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off AS $$
    WITH requests AS (
        SELECT app, endpoint, count(*) AS n FROM request_log
        WHERE received_at >= since AND (only_app IS NULL OR app = only_app)
        GROUP BY app, endpoint
    ), given AS (
        SELECT app, endpoint, one ->> 'stage' AS stage, one ->> 'reason' AS reason, count(*) AS n
        FROM request_log CROSS JOIN jsonb_array_elements(reasons) AS one
        WHERE received_at >= since AND (only_app IS NULL OR app = only_app)
        GROUP BY app, endpoint, one ->> 'stage', one ->> 'reason'
    )
    SELECT app, endpoint, stage, reason, reason NOT IN ('downgraded', 'no_generator'), given.n,
           given.n::double precision / requests.n
    FROM given JOIN requests USING (app, endpoint)
    ORDER BY app, endpoint, given.n DESC, report.stage_rank(stage), reason
$$;

-- What kinds of answers were given. Shares are of the app's requests at that endpoint.
CREATE FUNCTION report.answer_kinds(since timestamptz DEFAULT now() - interval '7 days',
                                    only_app text DEFAULT NULL)
RETURNS TABLE (app text, endpoint text, kind text, n bigint, share double precision, degraded double precision)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off AS $$
    SELECT app, endpoint, kind, count(*),
           count(*)::double precision / (sum(count(*)) OVER (PARTITION BY app, endpoint))::double precision,
           (count(*) FILTER (WHERE request_log.degraded))::double precision / count(*)
    FROM request_log
    WHERE received_at >= since AND (only_app IS NULL OR app = only_app)
    GROUP BY app, endpoint, kind
    ORDER BY app, endpoint, count(*) DESC, kind
$$;

-- From the question to the first text on its way back, streaming and not.
CREATE FUNCTION report.first_content(since timestamptz DEFAULT now() - interval '7 days',
                                     only_app text DEFAULT NULL)
RETURNS TABLE (app text, streamed boolean, n bigint, p50_ms double precision, p95_ms double precision,
               p99_ms double precision)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off SET work_mem = '64MB' AS $$
    WITH ordered AS (
        SELECT app, streamed, count(*) AS n,
               array_agg(first_content_us ORDER BY first_content_us) AS us
        FROM request_log
        WHERE received_at >= since AND (only_app IS NULL OR app = only_app)
            AND endpoint = 'answer' AND first_content_us IS NOT NULL
        GROUP BY app, streamed
    )
    SELECT app, streamed, n, us[(n * 50 + 99) / 100] / 1000::double precision,
           us[(n * 95 + 99) / 100] / 1000::double precision, us[(n * 99 + 99) / 100] / 1000::double precision
    FROM ordered ORDER BY app, streamed
$$;

-- What model calls used and cost, per day, app and model; wasted is what went into calls whose text was not used.
CREATE FUNCTION report.models(since timestamptz DEFAULT now() - interval '7 days', only_app text DEFAULT NULL)
RETURNS TABLE (day timestamptz, app text, model text, calls bigint, used bigint, input_tokens bigint,
               cached_tokens bigint, output_tokens bigint, thinking_tokens bigint, wasted_tokens bigint,
               cost_usd double precision, wasted_usd double precision, unpriced_calls bigint)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off AS $$
    SELECT report.day_of(received_at), app, model, count(*), count(*) FILTER (WHERE fate = 'used'),
           coalesce(sum(log.input_tokens), 0)::bigint, coalesce(sum(log.cached_tokens), 0)::bigint,
           coalesce(sum(log.output_tokens), 0)::bigint, coalesce(sum(log.thinking_tokens), 0)::bigint,
           sum(log.wasted_tokens)::bigint,
           coalesce(sum(cost_micros), 0)::double precision / 1000000,
           coalesce(sum(cost_micros) FILTER (WHERE fate <> 'used'), 0)::double precision / 1000000,
           count(*) FILTER (WHERE cost_micros IS NULL)
    FROM call_log AS log
    WHERE received_at >= since AND (only_app IS NULL OR app = only_app)
    GROUP BY report.day_of(received_at), app, model
    ORDER BY report.day_of(received_at), app, model
$$;

-- How many requests were answered within their budget, and how many with nothing missing: per day and over the
-- whole window.
CREATE FUNCTION report.slo(since timestamptz DEFAULT now() - interval '7 days', only_app text DEFAULT NULL,
                           only_per text DEFAULT NULL)
RETURNS TABLE (per text, starts_at timestamptz, app text, endpoint text, n bigint,
               within_budget double precision, not_degraded double precision, late bigint)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off AS $$
    WITH daily AS (
        SELECT report.day_of(received_at) AS day, app, endpoint, count(*) AS n,
               count(*) FILTER (WHERE spent_us > budget_total_ms * 1000) AS late,
               count(*) FILTER (WHERE NOT degraded) AS not_degraded
        FROM request_log
        WHERE received_at >= since AND (only_app IS NULL OR app = only_app)
        GROUP BY report.day_of(received_at), app, endpoint
    ), every AS (
        SELECT 'day' AS per, day AS starts_at, app, endpoint, n, late, not_degraded FROM daily
        WHERE only_per IS NULL OR only_per = 'day'
        UNION ALL
        SELECT 'window', since, app, endpoint, sum(n)::bigint, sum(late)::bigint, sum(not_degraded)::bigint
        FROM daily WHERE only_per IS NULL OR only_per = 'window'
        GROUP BY app, endpoint
    )
    SELECT per, starts_at, app, endpoint, n, (n - late)::double precision / n,
           not_degraded::double precision / n, late
    FROM every ORDER BY array_position(ARRAY['day', 'window'], per), starts_at, app, endpoint
$$;

CREATE VIEW report.stages AS SELECT * FROM report.stages();
CREATE VIEW report.stage_latency AS SELECT * FROM report.stage_latency();
CREATE VIEW report.budget_eaters AS SELECT * FROM report.budget_eaters();
CREATE VIEW report.degradations AS SELECT * FROM report.degradations();
CREATE VIEW report.answer_kinds AS SELECT * FROM report.answer_kinds();
CREATE VIEW report.first_content AS SELECT * FROM report.first_content();
CREATE VIEW report.models AS SELECT * FROM report.models();
CREATE VIEW report.slo AS SELECT * FROM report.slo();
