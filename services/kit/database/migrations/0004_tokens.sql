-- What is known of tokens without knowing them, over all hosts. A service has one on each host; other names are given once.
CREATE TABLE tokens (
  sha256 text PRIMARY KEY,
  name text NOT NULL,
  kind text NOT NULL,
  scopes text[] NOT NULL,
  host text NOT NULL,
  created timestamptz NOT NULL,
  expires timestamptz,
  revoked timestamptz,
  position bigint GENERATED ALWAYS AS IDENTITY
);
CREATE UNIQUE INDEX tokens_name ON tokens (name) WHERE kind <> 'service';

-- One row: its version is another one after each change, and its lock orders changes.
CREATE TABLE token_registry (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  version uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO token_registry DEFAULT VALUES;
