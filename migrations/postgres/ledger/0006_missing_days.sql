-- Days whose partitions somebody took away, and a floor that a wrong clock has raised.

-- Makes the partitions of one day, those that are missing: whoever writes gets a place for what it writes, however the
-- last one went. A table that was detached is attached again with the rows in it. Attached rather than created in place,
-- which would keep readers and writers of the other days waiting.
CREATE OR REPLACE FUNCTION ledger_make_day(day date) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    parent text;
    child text;
BEGIN
    IF ledger_has_day('request_log', day) AND ledger_has_day('stage_log', day) AND ledger_has_day('call_log', day) THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(1802073953, 1);
    FOREACH parent IN ARRAY ARRAY['request_log', 'stage_log', 'call_log'] LOOP
        -- Somebody else may have made it meanwhile.
        CONTINUE WHEN ledger_has_day(parent, day);
        child := parent || '_' || to_char(day, 'YYYYMMDD');
        IF to_regclass(child) IS NULL THEN
            -- Rules that somebody has added to the parent are part of it: without them it could not be attached.
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING CONSTRAINTS)',
                child, parent);
            -- Reports scan rows and hardly ever look at traces, so those lie apart.
            IF parent = 'request_log' THEN
                EXECUTE format('ALTER TABLE %I SET (toast_tuple_target = 256)', child);
            END IF;
        END IF;
        EXECUTE format(
            'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            parent, child, ledger_day_start(day), ledger_day_start(day + 1));
    END LOOP;
END $$;

-- Whether a log's partition of a day is there, and is one.
CREATE FUNCTION ledger_has_day(parent text, day date) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path FROM CURRENT AS $$
    SELECT EXISTS (
        SELECT FROM pg_inherits
        WHERE inhparent = to_regclass(parent) AND inhrelid = to_regclass(parent || '_' || to_char(day, 'YYYYMMDD'))
            AND NOT inhdetachpending)
$$;

-- Drops the days before `floor`, and histograms before `histogram_floor`. Gives how many days were dropped. The floor
-- comes down, too, where it is too high: a clock was ahead, or rows are to be kept for longer.
CREATE OR REPLACE FUNCTION ledger_drop_days(floor date, histogram_floor date) RETURNS integer
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    child regclass;
    dropped integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(1802073953, 0);
    UPDATE ledger_floor SET day = floor WHERE day <> floor;
    FOR child IN
        SELECT inhrelid::regclass FROM pg_inherits
        WHERE inhparent IN ('request_log'::regclass, 'stage_log'::regclass, 'call_log'::regclass)
            AND to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') < floor
    LOOP
        dropped := dropped + (left(child::text, 12) = 'request_log_')::integer;
        EXECUTE format('DROP TABLE %s', child);
    END LOOP;
    DELETE FROM stage_day_histogram WHERE day < ledger_day_start(histogram_floor);
    DELETE FROM rolled_day WHERE day < ledger_day_start(histogram_floor);
    DELETE FROM stage_histogram WHERE hour < ledger_day_start(histogram_floor);
    DELETE FROM stage_hour WHERE hour < ledger_day_start(histogram_floor);
    DELETE FROM rolled_hour WHERE hour < ledger_day_start(histogram_floor);
    RETURN dropped;
END $$;
