-- What a run was started with is kept in pieces, as its content is: it describes the tools that its requests describe again.
ALTER TABLE launches RENAME TO whole_launches;

-- `depth` is as in `blobs`.
CREATE TABLE launches (
    run     INTEGER PRIMARY KEY,
    content BLOB    NOT NULL,
    depth   INTEGER NOT NULL
) STRICT;

INSERT INTO launches SELECT run, CAST(content AS BLOB), 0 FROM whole_launches;
DROP TABLE whole_launches;
