-- Why answers and searches were less than full.
WITH requests AS (
    SELECT app, endpoint, count(*) AS n FROM request_log
    WHERE received_at_us >= ?1 AND kind <> 'abandoned' AND (?2 IS NULL OR app = ?2)
    GROUP BY app, endpoint
), given AS (
    SELECT app, endpoint, one.value ->> 'stage' AS stage, one.value ->> 'reason' AS reason, count(*) AS n
    FROM request_log, json_each(reasons) AS one
    WHERE received_at_us >= ?1 AND (?2 IS NULL OR app = ?2)
    GROUP BY 1, 2, 3, 4
)
SELECT app, endpoint, stage, reason, reason NOT IN ('downgraded', 'no_generator') AS degrades, given.n,
       given.n * 1.0 / requests.n AS share
FROM given JOIN requests USING (app, endpoint)
ORDER BY app, endpoint, given.n DESC,
         CASE stage WHEN 'normalize' THEN 1 WHEN 'keyword' THEN 2 WHEN 'embed' THEN 3 WHEN 'vector' THEN 4
                    WHEN 'generate' THEN 5 WHEN 'template' THEN 6 ELSE 7 END, reason
