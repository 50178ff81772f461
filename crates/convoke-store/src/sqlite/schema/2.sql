-- The steps that workflows are made of, as JSON: once for all runs of one shape. Runs of earlier versions have none.
CREATE TABLE outlines (
    key     INTEGER PRIMARY KEY,
    digest  BLOB NOT NULL UNIQUE,
    content BLOB NOT NULL
) STRICT;

ALTER TABLE runs ADD COLUMN outline INTEGER;
