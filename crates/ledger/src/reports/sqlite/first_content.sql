-- From the question to the first text on its way back, streaming and not.
WITH ranked AS (
    SELECT app, streamed, first_content_us,
           row_number() OVER (PARTITION BY app, streamed ORDER BY first_content_us) AS rank,
           count(*) OVER (PARTITION BY app, streamed) AS n
    FROM request_log
    WHERE received_at_us >= ?1 AND endpoint = 'answer' AND first_content_us IS NOT NULL
        AND (?2 IS NULL OR app = ?2)
)
SELECT app, streamed <> 0 AS streamed, max(n) AS n,
       min(CASE WHEN rank >= (n * 50 + 99) / 100 THEN first_content_us END) / 1000.0 AS p50_ms,
       min(CASE WHEN rank >= (n * 95 + 99) / 100 THEN first_content_us END) / 1000.0 AS p95_ms,
       min(CASE WHEN rank >= (n * 99 + 99) / 100 THEN first_content_us END) / 1000.0 AS p99_ms
FROM ranked GROUP BY app, streamed
ORDER BY app, streamed
