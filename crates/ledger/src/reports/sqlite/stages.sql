-- Latencies and outcomes per endpoint and stage. (n * p + 99) / 100 is ceil(p * n) in whole numbers.
WITH ran AS (
    SELECT endpoint, stage, elapsed_us,
           row_number() OVER (PARTITION BY endpoint, stage ORDER BY elapsed_us) AS rank,
           count(*) OVER (PARTITION BY endpoint, stage) AS n
    FROM stage_log
    WHERE received_at_us >= ?1 AND outcome <> 'skipped' AND (?2 IS NULL OR app = ?2)
), percentiles AS (
    SELECT endpoint, stage,
           min(CASE WHEN rank >= (n * 50 + 99) / 100 THEN elapsed_us END) / 1000.0 AS p50_ms,
           min(CASE WHEN rank >= (n * 95 + 99) / 100 THEN elapsed_us END) / 1000.0 AS p95_ms,
           min(CASE WHEN rank >= (n * 99 + 99) / 100 THEN elapsed_us END) / 1000.0 AS p99_ms
    FROM ran GROUP BY endpoint, stage
), shares AS (
    SELECT endpoint, stage, count(*) AS n,
           avg(outcome = 'ok') AS ok, avg(outcome = 'skipped') AS skipped,
           avg(outcome = 'cut') AS cut, avg(outcome = 'failed') AS failed
    FROM stage_log
    WHERE received_at_us >= ?1 AND (?2 IS NULL OR app = ?2)
    GROUP BY endpoint, stage
)
SELECT endpoint, stage, shares.n AS count, p50_ms, p95_ms, p99_ms, ok, skipped, cut, failed
FROM shares LEFT JOIN percentiles USING (endpoint, stage)
ORDER BY endpoint,
         CASE stage WHEN 'normalize' THEN 1 WHEN 'keyword' THEN 2 WHEN 'embed' THEN 3 WHEN 'vector' THEN 4
                    WHEN 'generate' THEN 5 WHEN 'template' THEN 6 ELSE 7 END, stage
