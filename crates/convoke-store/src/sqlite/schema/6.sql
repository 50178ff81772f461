-- What is known of where the outcome of an effect came from: labels with a space between them.
ALTER TABLE entries ADD COLUMN labels TEXT;
