import type { ColumnTypes } from '#kit/database/schema.ts';

/**
 * Tables of runs: the authority of everything that runs. `runs` has the head of each chain and what lists show; both change with the
 * events, in one transaction. Times in `changed_at` and `begun_at` are milliseconds since 1970, by the clock of the database.
 */
export function runTables({ text, integer, bytes }: ColumnTypes): string {
  return `
    CREATE TABLE runs (
      run_id ${text} PRIMARY KEY,
      -- The newest event, and the bytes of all of them as lines; -1 of a pruned run.
      seq ${integer} NOT NULL,
      hash ${text} NOT NULL,
      type ${text} NOT NULL,
      size ${integer} NOT NULL,
      changed_at ${integer} NOT NULL,
      -- See changeNumber.
      changed_in ${integer} NOT NULL,
      -- JSON: what is left of a pruned run.
      tombstone ${text},
      -- sha256 of the request's idempotency key.
      key_digest ${text} UNIQUE,
      status ${text} NOT NULL,
      forge ${text} NOT NULL,
      owner ${text} NOT NULL,
      repo ${text} NOT NULL,
      number ${integer},
      title ${text},
      role ${text} NOT NULL,
      created_at ${text} NOT NULL,
      updated_at ${text} NOT NULL,
      highest_risk ${text},
      waiting ${integer} NOT NULL,
      waits_for ${text},
      actions ${integer} NOT NULL,
      -- Names between line feeds, in lower case.
      asked_by ${text} NOT NULL,
      decided_by ${text} NOT NULL,
      -- Title and name of the issue, in lower case.
      words ${text} NOT NULL
    );
    CREATE INDEX runs_by_repository ON runs (owner, repo, number, run_id);
    CREATE INDEX runs_by_status ON runs (status, run_id);
    CREATE INDEX runs_by_change ON runs (changed_in);

    -- line is the event as it stands in events.jsonl, without its line feed.
    CREATE TABLE run_events (
      run_id ${text} NOT NULL,
      seq ${integer} NOT NULL,
      line ${text} NOT NULL,
      prev ${text} NOT NULL,
      hash ${text} NOT NULL,
      PRIMARY KEY (run_id, seq)
    );

    -- Artifacts that are objects of an S3 bucket. An object's row is there before the object, so that each can be found and deleted:
    -- 'begun' is being written, 'named' is the content of an artifact, 'going' is deleted next and never named again.
    CREATE TABLE run_objects (
      object ${text} PRIMARY KEY,
      run_id ${text} NOT NULL,
      bytes ${integer} NOT NULL,
      state ${text} NOT NULL CHECK (state IN ('begun', 'named', 'going')),
      begun_at ${integer} NOT NULL
    );
    CREATE INDEX run_objects_unnamed ON run_objects (begun_at) WHERE state <> 'named';
    CREATE INDEX run_objects_of_run ON run_objects (run_id);

    CREATE TABLE run_artifacts (
      run_id ${text} NOT NULL,
      digest ${text} NOT NULL,
      content ${bytes},
      object ${text},
      PRIMARY KEY (run_id, digest),
      CHECK ((content IS NULL) <> (object IS NULL))
    );`;
}
