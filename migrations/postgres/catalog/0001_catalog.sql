-- Articles and passages of record, for hosts that share them. A row lives in the generations
-- from_generation <= g < until_generation; an open row has no until_generation, a closed one is the tombstone
-- of what was there. Texts that are compared are ordered by bytes, whatever the database's locale.
--
-- Needs PostgreSQL 14 or later. The schema is made before this runs.

CREATE TABLE catalog.generation (
    app          text COLLATE "C" NOT NULL,
    number       bigint NOT NULL,
    epoch        integer NOT NULL,
    recipe       jsonb NOT NULL,                    -- embedder, splitter, passage text, analyser, vectors
    articles     bigint NOT NULL,
    passages     bigint NOT NULL,
    published_at timestamptz NOT NULL,
    PRIMARY KEY (app, number)
);

CREATE TABLE catalog.article (
    app              text COLLATE "C" NOT NULL,
    article_id       text COLLATE "C" NOT NULL,
    from_generation  bigint NOT NULL,
    until_generation bigint,
    content_hash     text NOT NULL,
    title            text NOT NULL,
    lang             text NOT NULL,
    url              text,
    path             text NOT NULL,
    tags             text[] NOT NULL,
    PRIMARY KEY (app, article_id, from_generation)
);

CREATE INDEX article_open ON catalog.article (app, article_id) WHERE until_generation IS NULL;

CREATE TABLE catalog.passage (
    app              text COLLATE "C" NOT NULL,
    article_id       text COLLATE "C" NOT NULL,
    from_generation  bigint NOT NULL,
    ordinal          integer NOT NULL,
    passage_id       text COLLATE "C" NOT NULL,
    until_generation bigint,
    body             text NOT NULL,                 -- JSON: the whole passage, byte for byte as written
    PRIMARY KEY (app, article_id, from_generation, ordinal)
);

CREATE INDEX passage_open ON catalog.passage (app, article_id) WHERE until_generation IS NULL;
-- For what changed between two generations, and for which passages still matter.
CREATE INDEX passage_begun ON catalog.passage (app, from_generation);
CREATE INDEX passage_closed ON catalog.passage (app, until_generation) WHERE until_generation IS NOT NULL;
CREATE INDEX passage_by_id ON catalog.passage (app, passage_id);

-- Vectors of passages, where no vector database keeps them.
CREATE TABLE catalog.vector (
    app        text COLLATE "C" NOT NULL,
    space      text COLLATE "C" NOT NULL,           -- embedder and version of the embedded text
    passage_id text COLLATE "C" NOT NULL,
    vector     bytea NOT NULL,                      -- 32-bit floats, little-endian, of unit length
    PRIMARY KEY (app, space, passage_id)
);

-- They do not compress.
ALTER TABLE catalog.vector ALTER COLUMN vector SET STORAGE EXTERNAL;

-- Servers and what they still answer from.
CREATE TABLE catalog.replica (
    replica    text COLLATE "C" NOT NULL,
    app        text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,                     -- the oldest that a request may still be on
    seen_at    timestamptz NOT NULL,
    PRIMARY KEY (replica, app)
);

-- Who last took an app's lock, to say so to others. The lock itself is an advisory one.
CREATE TABLE catalog.writer (
    app    text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    since  timestamptz NOT NULL
);
