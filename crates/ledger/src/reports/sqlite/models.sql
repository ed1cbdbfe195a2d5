-- What model calls used and cost, per day, app and model.
SELECT strftime('%Y-%m-%dT00:00:00Z', received_at_us / 1000000, 'unixepoch') AS day, app, model,
       count(*) AS calls, count(*) FILTER (WHERE fate = 'used') AS used,
       coalesce(sum(input_tokens), 0) AS input_tokens, coalesce(sum(cached_tokens), 0) AS cached_tokens,
       coalesce(sum(output_tokens), 0) AS output_tokens, coalesce(sum(thinking_tokens), 0) AS thinking_tokens,
       sum(wasted_tokens) AS wasted_tokens, coalesce(sum(cost_micros), 0) / 1000000.0 AS cost_usd,
       coalesce(sum(cost_micros) FILTER (WHERE fate <> 'used'), 0) / 1000000.0 AS wasted_usd,
       count(*) FILTER (WHERE cost_micros IS NULL) AS unpriced_calls
FROM call_log
WHERE received_at_us >= ?1 AND (?2 IS NULL OR app = ?2)
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
