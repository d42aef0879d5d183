import type { ColumnTypes } from '#kit/database/schema.ts';

/**
 * Tables of runs, which executions rely on. `runs` has the head of each chain and the columns of lists. One transaction changes both,
 * together with the events. `changed_at` and `begun_at` are milliseconds since 1970, by the clock of the database.
 */
export function runTables({ text, integer, bytes, strict }: ColumnTypes): string {
  return `
    CREATE TABLE runs (
      run_id ${text} PRIMARY KEY,
      -- The newest event. size: number of bytes in the lines of all events; -1 for a pruned run.
      seq ${integer} NOT NULL,
      hash ${text} NOT NULL,
      type ${text} NOT NULL,
      size ${integer} NOT NULL,
      changed_at ${integer} NOT NULL,
      -- See changeNumber.
      changed_in ${integer} NOT NULL,
      -- JSON of the tombstone of a pruned run.
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
    )${strict};
    CREATE INDEX runs_by_repository ON runs (owner, repo, number, run_id);
    CREATE INDEX runs_by_status ON runs (status, run_id);
    CREATE INDEX runs_by_change ON runs (changed_in);

    -- line: the event as in events.jsonl, without its line feed.
    CREATE TABLE run_events (
      run_id ${text} NOT NULL,
      seq ${integer} NOT NULL,
      line ${text} NOT NULL,
      prev ${text} NOT NULL,
      hash ${text} NOT NULL,
      PRIMARY KEY (run_id, seq)
    )${strict};

    -- Artifacts that are objects of an S3 bucket. The row of an object is written first, so that the object can be found and deleted.
    -- state: 'begun' is being written, 'named' is the content of an artifact, 'going' is deleted next and never named again.
    CREATE TABLE run_objects (
      object ${text} PRIMARY KEY,
      run_id ${text} NOT NULL,
      bytes ${integer} NOT NULL,
      state ${text} NOT NULL CHECK (state IN ('begun', 'named', 'going')),
      begun_at ${integer} NOT NULL
    )${strict};
    CREATE INDEX run_objects_unnamed ON run_objects (begun_at) WHERE state <> 'named';
    CREATE INDEX run_objects_of_run ON run_objects (run_id);

    CREATE TABLE run_artifacts (
      run_id ${text} NOT NULL,
      digest ${text} NOT NULL,
      content ${bytes},
      object ${text},
      PRIMARY KEY (run_id, digest),
      CHECK ((content IS NULL) <> (object IS NULL))
    )${strict};`;
}
