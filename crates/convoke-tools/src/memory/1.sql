CREATE TABLE memories (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Whom it is for: a workspace's name, or nothing for the user.
    scope   TEXT NOT NULL,
    kind    TEXT NOT NULL CHECK (kind IN ('finding', 'insight', 'lesson')),
    text    TEXT NOT NULL,
    -- The text as it is compared: the same thing is kept once.
    plain   TEXT NOT NULL,
    -- Where it comes from: who said it, in which run, and where there.
    origin  TEXT NOT NULL,
    run     TEXT NOT NULL,
    path    TEXT NOT NULL,
    made    INTEGER NOT NULL,
    -- When it was said last, and how often.
    said    INTEGER NOT NULL,
    times   INTEGER NOT NULL,
    expires INTEGER,
    UNIQUE (scope, plain)
);

CREATE INDEX memories_by_expiry ON memories (expires) WHERE expires IS NOT NULL;

CREATE VIRTUAL TABLE memory_words USING fts5 (
    text, content = 'memories', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TRIGGER memory_made AFTER INSERT ON memories BEGIN
    INSERT INTO memory_words (rowid, text) VALUES (new.id, new.text);
END;

CREATE TRIGGER memory_gone AFTER DELETE ON memories BEGIN
    INSERT INTO memory_words (memory_words, rowid, text) VALUES ('delete', old.id, old.text);
END;

CREATE TABLE calls (
    key       TEXT PRIMARY KEY,
    arguments TEXT NOT NULL,
    run       TEXT NOT NULL,
    result    TEXT NOT NULL,
    at        INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX calls_by_age ON calls (at);
