-- What people are notified of, each once for a person and a channel, whichever daemon found it. Times as in 0005_bridge.
CREATE TABLE notification_jobs (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  person text NOT NULL,
  channel text NOT NULL,
  notice_id text NOT NULL,
  notice text NOT NULL,
  state text NOT NULL CHECK (state IN ('pending', 'processing', 'done', 'skipped', 'dead')),
  created_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due_at bigint,
  claim bigint,
  claimed_until bigint,
  reason_code text,
  reason text,
  UNIQUE (person, channel, notice_id)
);
CREATE INDEX notification_jobs_leases ON notification_jobs (claimed_until) WHERE state = 'processing';
CREATE INDEX notification_jobs_due ON notification_jobs (due_at, seq) WHERE state = 'pending';

-- Since when somebody is notified.
CREATE TABLE notification_people (
  person text PRIMARY KEY,
  since bigint NOT NULL
);

-- Bytes of each run's log as far as it was looked at.
CREATE TABLE notification_seen (
  run_id text PRIMARY KEY,
  size bigint NOT NULL
);

-- When the first person was to be notified: runs as they were then are no news.
CREATE TABLE notification_begin (
  the_one boolean PRIMARY KEY DEFAULT true CHECK (the_one),
  at bigint NOT NULL
);
