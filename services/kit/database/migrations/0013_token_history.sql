-- Tokens that had the name before, oldest first: sha256, when each was created, how and when it ended.
ALTER TABLE tokens ADD COLUMN former jsonb NOT NULL DEFAULT '[]';
