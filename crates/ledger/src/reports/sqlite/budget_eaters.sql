-- Which stages took more than their allotment, and which later stage paid for it.
WITH answers AS (
    SELECT app, count(*) AS n FROM request_log
    WHERE received_at_us >= ?1 AND endpoint = 'answer' AND kind <> 'abandoned' AND (?2 IS NULL OR app = ?2)
    GROUP BY app
), eaters AS (
    SELECT app, stage, paid_by, count(*) AS n FROM stage_log
    WHERE received_at_us >= ?1 AND paid_by IS NOT NULL AND endpoint = 'answer' AND (?2 IS NULL OR app = ?2)
    GROUP BY app, stage, paid_by
)
SELECT app, stage, paid_by, eaters.n, eaters.n * 1.0 / answers.n AS share
FROM eaters JOIN answers USING (app)
ORDER BY app,
         CASE stage WHEN 'normalize' THEN 1 WHEN 'keyword' THEN 2 WHEN 'embed' THEN 3 WHEN 'vector' THEN 4
                    WHEN 'generate' THEN 5 WHEN 'template' THEN 6 ELSE 7 END, stage,
         CASE paid_by WHEN 'vector' THEN 4 WHEN 'generate' THEN 5 ELSE 7 END
