-- What kinds of answers were given.
SELECT app, endpoint, kind, count(*) AS n,
       count(*) * 1.0 / sum(count(*)) OVER (PARTITION BY app, endpoint) AS share, avg(degraded) AS degraded
FROM request_log
WHERE received_at_us >= ?1 AND (?2 IS NULL OR app = ?2)
GROUP BY app, endpoint, kind
ORDER BY app, endpoint, count(*) DESC, kind
