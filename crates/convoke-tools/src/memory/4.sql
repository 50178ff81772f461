-- What a memory means, and who says so, where that is known.
ALTER TABLE memories ADD COLUMN embedder TEXT;
ALTER TABLE memories ADD COLUMN packed BLOB;
