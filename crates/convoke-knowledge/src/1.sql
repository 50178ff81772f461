CREATE TABLE collections (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- What was added: files and folders, by their whole paths.
CREATE TABLE roots (
    collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    path       TEXT NOT NULL,
    PRIMARY KEY (collection, path)
) WITHOUT ROWID;

CREATE TABLE documents (
    id         INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    path       TEXT NOT NULL,
    -- Of what was in the file, and of the way it was read.
    digest     TEXT NOT NULL,
    bytes      INTEGER NOT NULL,
    passages   INTEGER NOT NULL,
    read_at    INTEGER NOT NULL,
    UNIQUE (collection, path)
);

CREATE TABLE passages (
    id         INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    document   INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    heading    TEXT,
    page       INTEGER,
    first_line INTEGER,
    last_line  INTEGER,
    text       TEXT NOT NULL,
    UNIQUE (document, ordinal)
);

CREATE VIRTUAL TABLE passage_words USING fts5 (
    heading, text, content = 'passages', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TRIGGER passage_made AFTER INSERT ON passages BEGIN
    INSERT INTO passage_words (rowid, heading, text) VALUES (new.id, new.heading, new.text);
END;

CREATE TRIGGER passage_gone AFTER DELETE ON passages BEGIN
    INSERT INTO passage_words (passage_words, rowid, heading, text) VALUES ('delete', old.id, old.heading, old.text);
END;

-- The vectors of all passages of a document, packed, in their order.
CREATE TABLE vectors (
    document INTEGER PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
    embedder TEXT NOT NULL,
    packed   BLOB NOT NULL
);

-- What is removed leaves no words behind, in the index neither.
INSERT INTO passage_words (passage_words, rank) VALUES ('secure-delete', 1);
