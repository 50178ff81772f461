-- What runs were sent, in the order it came. `id` is what the sender knows it by. An answer to a question is mail too; it is
-- `taken` when its question was settled, and void should the question be asked anew.
CREATE TABLE mail (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    run     INTEGER NOT NULL,
    channel TEXT    NOT NULL,
    id      TEXT,
    sender  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    payload BLOB    NOT NULL,
    taken   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX mail_of_runs ON mail (run, channel, number);
CREATE UNIQUE INDEX mail_by_id ON mail (run, channel, id) WHERE id IS NOT NULL;

-- The channels that suspended runs wait for mail on.
CREATE TABLE waits (
    run     INTEGER NOT NULL,
    channel TEXT    NOT NULL,
    PRIMARY KEY (run, channel)
) STRICT, WITHOUT ROWID;

-- From when on a suspended run can go on by itself.
ALTER TABLE runs ADD COLUMN wake INTEGER;
CREATE INDEX runs_by_wake ON runs (wake) WHERE wake IS NOT NULL;

-- Those that are under way, or were left.
CREATE INDEX runs_under_way ON runs (updated) WHERE status = 0;

-- Until when those count as alive whose processes cannot be looked for from here.
CREATE TABLE holders (
    holder TEXT PRIMARY KEY,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO mail (run, channel, sender, at, payload, taken)
SELECT answers.run, 'convoke:reply:' || question, coalesce(answer ->> 'by', ''), answer ->> 'at', CAST(answer AS BLOB),
       NOT EXISTS (SELECT 1 FROM questions WHERE questions.run = answers.run AND questions.id = answers.question)
FROM answers ORDER BY answers.run, question, number;

DROP TABLE answers;

-- Whoever goes on with them finds out what they wait for.
UPDATE runs SET wake = updated
WHERE status = 1 AND key IN (
    SELECT mail.run FROM mail WHERE NOT taken
    UNION SELECT questions.run FROM questions WHERE question LIKE '%"expiry":%' OR question LIKE '%"escalation":%'
);
