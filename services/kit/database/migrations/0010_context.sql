-- The record of core-context, which one process of all hosts writes. Its backups are pieces of a file, objects of an S3 bucket. A
-- piece's row is there before its object, and a piece that is going is never part of a backup again.
CREATE TABLE context_pieces (
  piece bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  digest text COLLATE "C" NOT NULL,
  going boolean NOT NULL DEFAULT false
);
CREATE INDEX context_pieces_going ON context_pieces (piece) WHERE going;

-- Only whole ones. `applied` is the last entry of the journal that is in it.
CREATE TABLE context_backups (
  backup bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  record text COLLATE "C" NOT NULL,
  applied bigint NOT NULL,
  bytes bigint NOT NULL,
  pieces bigint[] NOT NULL,
  host text NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Every record that was ever backed up here: a copy of one may be replaced by a newer one.
CREATE TABLE context_records (
  record text COLLATE "C" PRIMARY KEY
);

-- What was acknowledged since the oldest backup.
CREATE TABLE context_journal (
  seq bigint PRIMARY KEY,
  command text COLLATE "C" NOT NULL,
  input text NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);
