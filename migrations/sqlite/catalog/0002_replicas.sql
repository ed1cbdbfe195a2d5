-- Servers and what they still answer from, where vectors lie in a vector database that has to be tidied.
CREATE TABLE replica (
    replica    TEXT NOT NULL,
    app        TEXT NOT NULL,
    generation INTEGER NOT NULL,                    -- the oldest that a request may still be on
    seen_at_us INTEGER NOT NULL,                    -- since the Unix epoch
    PRIMARY KEY (replica, app)
) STRICT, WITHOUT ROWID;

-- For what changed between two generations.
CREATE INDEX passage_closed ON passage (app, until_generation) WHERE until_generation IS NOT NULL;
