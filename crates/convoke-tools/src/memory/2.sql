-- What is forgotten leaves no words behind, in the index neither.
INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);
UPDATE calls SET result = substr(result, 1, instr(result, ':') - 1) WHERE result LIKE 'forgot #%:%';
