-- Latencies of the stages that ran, by app, endpoint and stage: per hour, per day and over the whole window.
WITH ran AS MATERIALIZED (
    SELECT received_at_us, app, endpoint, stage, elapsed_us
    FROM stage_log
    WHERE received_at_us >= ?1 AND outcome <> 'skipped' AND (?2 IS NULL OR app = ?2)
), every AS (
    SELECT 1 AS grain, 'hour' AS per, received_at_us - received_at_us % 3600000000 AS starts_us,
           app, endpoint, stage, elapsed_us
    FROM ran WHERE ?3 IS NULL OR ?3 = 'hour'
    UNION ALL
    SELECT 2, 'day', received_at_us - received_at_us % 86400000000, app, endpoint, stage, elapsed_us
    FROM ran WHERE ?3 IS NULL OR ?3 = 'day'
    UNION ALL
    SELECT 3, 'window', ?1, app, endpoint, stage, elapsed_us
    FROM ran WHERE ?3 IS NULL OR ?3 = 'window'
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY grain, starts_us, app, endpoint, stage ORDER BY elapsed_us) AS rank,
           count(*) OVER (PARTITION BY grain, starts_us, app, endpoint, stage) AS n
    FROM every
), percentiles AS (
    SELECT grain, per, starts_us, app, endpoint, stage, max(n) AS n,
           min(CASE WHEN rank >= (n * 50 + 99) / 100 THEN elapsed_us END) / 1000.0 AS p50_ms,
           min(CASE WHEN rank >= (n * 95 + 99) / 100 THEN elapsed_us END) / 1000.0 AS p95_ms,
           min(CASE WHEN rank >= (n * 99 + 99) / 100 THEN elapsed_us END) / 1000.0 AS p99_ms
    FROM ranked GROUP BY grain, per, starts_us, app, endpoint, stage
)
SELECT per, strftime('%Y-%m-%dT%H:%M:%SZ', starts_us / 1000000, 'unixepoch') AS starts_at, app, endpoint, stage, n,
       p50_ms, p95_ms, p99_ms, p99_ms / nullif(p50_ms, 0.0) AS tail_ratio, TRUE AS is_exact
FROM percentiles
ORDER BY grain, starts_us, app, endpoint,
         CASE stage WHEN 'normalize' THEN 1 WHEN 'keyword' THEN 2 WHEN 'embed' THEN 3 WHEN 'vector' THEN 4
                    WHEN 'generate' THEN 5 WHEN 'template' THEN 6 ELSE 7 END, stage
