-- How many requests were answered within their budget, and how many with nothing missing.
WITH counted AS (
    SELECT received_at_us - received_at_us % 86400000000 AS day_us, app, endpoint,
           spent_us > budget_total_ms * 1000 AS late, degraded
    FROM request_log
    WHERE received_at_us >= ?1 AND kind <> 'abandoned' AND (?2 IS NULL OR app = ?2)
), every AS (
    SELECT 1 AS grain, 'day' AS per, day_us AS starts_us, app, endpoint, late, degraded
    FROM counted WHERE ?3 IS NULL OR ?3 = 'day'
    UNION ALL
    SELECT 2, 'window', ?1, app, endpoint, late, degraded
    FROM counted WHERE ?3 IS NULL OR ?3 = 'window'
)
SELECT per, strftime('%Y-%m-%dT%H:%M:%SZ', starts_us / 1000000, 'unixepoch') AS starts_at, app, endpoint,
       count(*) AS n, avg(1 - late) AS within_budget, avg(1 - degraded) AS not_degraded, sum(late) AS late
FROM every
GROUP BY grain, per, starts_us, app, endpoint
ORDER BY grain, starts_us, app, endpoint
