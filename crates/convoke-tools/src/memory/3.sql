-- What was said under a name, whichever run said it. A summary stands beside what it sums up, and replaces nothing.
CREATE TABLE conversations (
    id         INTEGER PRIMARY KEY,
    -- Whom it is for: a workspace's name.
    scope      TEXT NOT NULL,
    name       TEXT NOT NULL,
    summary    TEXT,
    -- The last remark that the summary has in it.
    summarized INTEGER NOT NULL DEFAULT 0,
    vars       TEXT NOT NULL DEFAULT '{}',
    UNIQUE (scope, name)
);

CREATE TABLE remarks (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    run          TEXT NOT NULL,
    -- The call that added it, and its place there: what is added again is known by them.
    key          TEXT NOT NULL,
    ordinal      INTEGER NOT NULL,
    role         TEXT NOT NULL,
    text         TEXT NOT NULL,
    said         INTEGER NOT NULL,
    embedder     TEXT,
    packed       BLOB,
    UNIQUE (conversation, run, key, ordinal)
);

CREATE INDEX remarks_in_order ON remarks (conversation, id);

CREATE VIRTUAL TABLE remark_words USING fts5 (
    text, content = 'remarks', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TRIGGER remark_made AFTER INSERT ON remarks BEGIN
    INSERT INTO remark_words (rowid, text) VALUES (new.id, new.text);
END;

CREATE TRIGGER remark_gone AFTER DELETE ON remarks BEGIN
    INSERT INTO remark_words (remark_words, rowid, text) VALUES ('delete', old.id, old.text);
END;

INSERT INTO remark_words (remark_words, rank) VALUES ('secure-delete', 1);
