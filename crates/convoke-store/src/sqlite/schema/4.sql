-- What a run was started with beside its state, as JSON. Apart from the runs, as their inputs are; many have none.
CREATE TABLE launches (
    run     INTEGER PRIMARY KEY,
    content TEXT NOT NULL
) STRICT;

-- What runs are found by, out of their launches.
CREATE TABLE labels (
    name  TEXT    NOT NULL,
    value TEXT    NOT NULL,
    run   INTEGER NOT NULL,
    PRIMARY KEY (name, value, run)
) STRICT, WITHOUT ROWID;

CREATE INDEX labels_of_runs ON labels (run);

-- Of launches too. `worked` is the microseconds that the run has been at work.
ALTER TABLE runs ADD COLUMN parent TEXT;
ALTER TABLE runs ADD COLUMN thread TEXT;
-- `latest` is the latest version of the workflow that has worked on the run; NULL for the one that began it.
ALTER TABLE runs ADD COLUMN latest INTEGER;
ALTER TABLE runs ADD COLUMN worked INTEGER NOT NULL DEFAULT 0;

CREATE INDEX runs_by_parent ON runs (parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_by_thread ON runs (thread) WHERE thread IS NOT NULL;
