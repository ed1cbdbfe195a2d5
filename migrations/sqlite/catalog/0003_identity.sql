-- What tells this catalog from all others: a number that is part of the names of its collections in a vector
-- database, which catalogs may share.
CREATE TABLE identity (
    only_row INTEGER PRIMARY KEY DEFAULT 1 CHECK (only_row = 1),
    number   INTEGER NOT NULL CHECK (number BETWEEN 0 AND 4294967295)
) STRICT;

INSERT INTO identity (number) VALUES (random() & 4294967295);
