-- A run: the head of its chain, and what lists show of it. Both change with its events, in one transaction.
CREATE TABLE runs (
  run_id text COLLATE "C" PRIMARY KEY,
  -- The newest event, and the bytes of all of them as lines; -1 of a pruned run.
  seq integer NOT NULL,
  hash text NOT NULL,
  type text NOT NULL,
  size bigint NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- What is left of a pruned run.
  tombstone jsonb,
  status text NOT NULL,
  forge text NOT NULL,
  owner text NOT NULL,
  repo text NOT NULL,
  number integer,
  title text,
  role text NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  highest_risk text,
  waiting integer NOT NULL,
  waits_for text,
  actions integer NOT NULL,
  -- Names between line feeds, in lower case.
  asked_by text NOT NULL,
  decided_by text NOT NULL,
  -- Title and name of the issue, in lower case.
  words text NOT NULL
);
CREATE INDEX runs_by_repository ON runs (owner, repo, number, run_id);
CREATE INDEX runs_by_status ON runs (status, run_id);

-- `line` is the event as it stands in events.jsonl, without its line feed.
CREATE TABLE run_events (
  run_id text COLLATE "C" NOT NULL REFERENCES runs,
  seq integer NOT NULL,
  line text NOT NULL,
  prev text NOT NULL,
  hash text NOT NULL,
  PRIMARY KEY (run_id, seq)
);

CREATE TABLE run_artifacts (
  run_id text COLLATE "C" NOT NULL REFERENCES runs,
  digest text NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (run_id, digest)
);
