-- Runs have a number of our own (never reused) so that their id is written once, not with every entry.
-- Times are microseconds since 1970. `seed` is a u64 as its bits. `totals` is JSON, NULL for nothing used.
CREATE TABLE runs (
    key         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT    NOT NULL UNIQUE,
    workflow    TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    updated     INTEGER NOT NULL,
    seed        INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    holder      TEXT,
    forked_from TEXT,
    forked_at   INTEGER,
    totals      TEXT
) STRICT;

-- Apart from their runs: a claim changes the run's row, and must not write a large state again.
CREATE TABLE inputs (
    run     INTEGER PRIMARY KEY,
    content BLOB NOT NULL
) STRICT;

CREATE TABLE outcomes (
    run     INTEGER PRIMARY KEY,
    content BLOB NOT NULL
) STRICT;

-- `place` is run * 2^32 + seq: a run's entries lie together, in order, in one tree, and an append writes one page.
-- (With PRIMARY KEY (run, seq) and WITHOUT ROWID, an entry of 1 to 2 KB would take 4 KB: SQLite keeps only a quarter
-- of a page in the leaves of such a table and moves the rest to pages of its own.)
CREATE TABLE entries (
    place   INTEGER PRIMARY KEY,
    path    TEXT    NOT NULL,
    ordinal INTEGER NOT NULL,
    effect  INTEGER NOT NULL,
    phase   INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    at      INTEGER NOT NULL,
    request BLOB,
    outcome BLOB
) STRICT;

-- With a rowid for the same reason.
CREATE TABLE blobs (
    run     INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    content BLOB    NOT NULL,
    UNIQUE (run, digest)
) STRICT;

-- Open questions only. `question` is JSON.
CREATE TABLE questions (
    run      INTEGER NOT NULL,
    id       TEXT    NOT NULL,
    path     TEXT    NOT NULL,
    asked    INTEGER NOT NULL,
    question TEXT    NOT NULL,
    UNIQUE (run, id)
) STRICT;

-- Answers stay when their question is settled. `answer` is JSON.
CREATE TABLE answers (
    run      INTEGER NOT NULL,
    question TEXT    NOT NULL,
    number   INTEGER NOT NULL,
    answer   TEXT    NOT NULL,
    PRIMARY KEY (run, question, number)
) STRICT, WITHOUT ROWID;
