-- Requests whose clients went away have rows too, of the kind `abandoned`: they have no stages, but the calls made for
-- them cost what they cost. They are no answers, so that reports on how answers were leave them out.
COMMENT ON COLUMN request_log.kind IS
    'generated, partial, templated, no_match; hits: of a search; abandoned: the client went away before its end';

-- Which stages took more than their allotment, and which later stage paid for it. A stage is over when it ran
-- longer than its minimum (embed, vector) or was cut at the end of what it had been given; the one that pays is
-- the first later one that was cut, or not started for want of time. Shares are of the app's answers.
CREATE OR REPLACE FUNCTION report.budget_eaters(since timestamptz DEFAULT now() - interval '7 days',
                                     only_app text DEFAULT NULL)
RETURNS TABLE (app text, stage text, paid_by text, n bigint, share double precision)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off AS $$
    WITH answers AS (
        SELECT app, count(*) AS n FROM request_log
        WHERE received_at >= since AND endpoint = 'answer' AND kind <> 'abandoned'
            AND (only_app IS NULL OR app = only_app)
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
CREATE OR REPLACE FUNCTION report.degradations(since timestamptz DEFAULT now() - interval '7 days',
                                    only_app text DEFAULT NULL)
RETURNS TABLE (app text, endpoint text, stage text, reason text, degrades boolean, n bigint,
               share double precision)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off AS $$
    WITH requests AS (
        SELECT app, endpoint, count(*) AS n FROM request_log
        WHERE received_at >= since AND kind <> 'abandoned' AND (only_app IS NULL OR app = only_app)
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

-- How many requests were answered within their budget, and how many with nothing missing: per day and over the
-- whole window.
CREATE OR REPLACE FUNCTION report.slo(since timestamptz DEFAULT now() - interval '7 days', only_app text DEFAULT NULL,
                           only_per text DEFAULT NULL)
RETURNS TABLE (per text, starts_at timestamptz, app text, endpoint text, n bigint,
               within_budget double precision, not_degraded double precision, late bigint)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off AS $$
    WITH daily AS (
        SELECT report.day_of(received_at) AS day, app, endpoint, count(*) AS n,
               count(*) FILTER (WHERE spent_us > budget_total_ms * 1000) AS late,
               count(*) FILTER (WHERE NOT degraded) AS not_degraded
        FROM request_log
        WHERE received_at >= since AND kind <> 'abandoned' AND (only_app IS NULL OR app = only_app)
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
