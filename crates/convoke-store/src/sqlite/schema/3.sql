-- Long content is kept in pieces, each once for a run: what says again what an earlier content said costs little.
CREATE TABLE pieces (
    key     INTEGER PRIMARY KEY,
    run     INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    content BLOB    NOT NULL,
    UNIQUE (run, digest)
) STRICT;

-- 0: the content itself. 1: the keys of its pieces. 2: the keys of the pieces of that list, and so on.
ALTER TABLE blobs ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
