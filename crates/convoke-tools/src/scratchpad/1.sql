CREATE TABLE notes (
    run     TEXT NOT NULL,
    name    TEXT NOT NULL,
    value   TEXT NOT NULL,
    -- Who wrote it last, and when.
    path    TEXT NOT NULL,
    written INTEGER NOT NULL,
    PRIMARY KEY (run, name)
) WITHOUT ROWID;

CREATE TABLE calls (
    key       TEXT PRIMARY KEY,
    arguments TEXT NOT NULL,
    run       TEXT NOT NULL,
    result    TEXT NOT NULL,
    at        INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX calls_of_run ON calls (run);
