-- What has been calibrated and applied. Rows are only added; the newest of an app is the one in force.
CREATE TABLE calibration (
    number         INTEGER PRIMARY KEY AUTOINCREMENT,   -- from 1; request_log.calibration names it
    app            TEXT NOT NULL,
    created_at_us  INTEGER NOT NULL,                    -- moments count from the Unix epoch
    created_by     TEXT NOT NULL,
    window_from_us INTEGER NOT NULL,                    -- requests received from here,
    window_to_us   INTEGER NOT NULL,                    -- and before here, are what it rests on
    calibrated     TEXT NOT NULL                        -- JSON: minimums, cut-offs, speeds of models
) STRICT;

CREATE INDEX calibration_by_app ON calibration (app, number);
