-- Artifacts that are objects of an S3 bucket. An object's row is there before the object, so that each can be found and deleted:
-- `begun` is being written, `named` is what an artifact is, `going` is to be deleted and will never be named.
CREATE TABLE run_objects (
  object text COLLATE "C" PRIMARY KEY,
  run_id text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL,
  state text NOT NULL DEFAULT 'begun' CHECK (state IN ('begun', 'named', 'going')),
  begun_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX run_objects_unnamed ON run_objects (begun_at) WHERE state <> 'named';
CREATE INDEX run_objects_of_run ON run_objects (run_id);

ALTER TABLE run_artifacts ALTER COLUMN content DROP NOT NULL;
ALTER TABLE run_artifacts ADD COLUMN object text COLLATE "C" REFERENCES run_objects;
ALTER TABLE run_artifacts ADD CONSTRAINT run_artifacts_somewhere CHECK ((content IS NULL) <> (object IS NULL));
