-- How often the run has continued with another state, and the number of the first entry since.
ALTER TABLE runs ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN begins_at INTEGER NOT NULL DEFAULT 1;

-- What a run's generation has from those before it, as JSON. Apart from the runs, as their inputs are; most have none.
CREATE TABLE carried (
    run     INTEGER PRIMARY KEY,
    content BLOB NOT NULL
) STRICT;

-- What is known of where the outcome of an effect came from: labels with a space between them.
ALTER TABLE entries ADD COLUMN labels TEXT;
