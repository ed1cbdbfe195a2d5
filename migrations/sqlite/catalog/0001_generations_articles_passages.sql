-- Articles and passages of record. A row lives in the generations from_generation <= g < until_generation;
-- an open row has no until_generation, a closed one is the tombstone of what was there.
CREATE TABLE generation (
    app             TEXT NOT NULL,
    number          INTEGER NOT NULL,
    epoch           INTEGER NOT NULL,
    recipe          TEXT NOT NULL,                  -- JSON: embedder, splitter, passage text, analyser
    articles        INTEGER NOT NULL,
    passages        INTEGER NOT NULL,
    published_at_us INTEGER NOT NULL,               -- since the Unix epoch
    PRIMARY KEY (app, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE article (
    app              TEXT NOT NULL,
    article_id       TEXT NOT NULL,
    from_generation  INTEGER NOT NULL,
    until_generation INTEGER,
    content_hash     TEXT NOT NULL,
    title            TEXT NOT NULL,
    lang             TEXT NOT NULL,
    url              TEXT,
    path             TEXT NOT NULL,
    tags             TEXT NOT NULL,                 -- JSON array
    PRIMARY KEY (app, article_id, from_generation)
) STRICT, WITHOUT ROWID;

CREATE INDEX article_open ON article (app, article_id) WHERE until_generation IS NULL;

CREATE TABLE passage (
    app              TEXT NOT NULL,
    article_id       TEXT NOT NULL,
    from_generation  INTEGER NOT NULL,
    ordinal          INTEGER NOT NULL,
    passage_id       TEXT NOT NULL,
    until_generation INTEGER,
    body             TEXT NOT NULL,                 -- JSON: the whole passage
    PRIMARY KEY (app, article_id, from_generation, ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX passage_open ON passage (app, article_id) WHERE until_generation IS NULL;
