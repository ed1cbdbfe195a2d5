-- What tells this catalog from all others: a number that is part of the names of its collections in a vector
-- database, which catalogs may share.
CREATE TABLE catalog.identity (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    number   bigint NOT NULL CHECK (number BETWEEN 0 AND 4294967295)
);

INSERT INTO catalog.identity (number)
VALUES (('x' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 8))::bit(32)::bigint);
