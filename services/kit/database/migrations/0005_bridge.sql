-- The bridge's queue, schedules, and what it tells dashboards. Times are milliseconds since 1970, by this server's clock.
CREATE FUNCTION core_clock_ms() RETURNS bigint LANGUAGE sql VOLATILE
  AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;




-- In the order of arrival. `turn` counts the events of an issue, so that two bridges cannot both add the next one unseen.
CREATE TABLE bridge_events (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id text NOT NULL UNIQUE,
  source text NOT NULL,
  body_sha256 text NOT NULL,
  issue_sha256 text,
  facts text NOT NULL,
  target text,
  turn integer,
  taken_up_by_sync boolean NOT NULL,
  forge text,
  owner text,
  repo text,
  occurred_at bigint,
  state text NOT NULL CHECK (state IN ('pending', 'processing', 'done', 'skipped', 'dead')),
  received_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  generation integer NOT NULL DEFAULT 0,
  due_at bigint,
  claim text,
  claimed_until bigint,
  run_id text,
  reason_code text,
  reason text,
  UNIQUE (target, turn)
);
-- Deliveries of a forge sign no time: one with the body of another is that other one, whatever it calls itself.
CREATE UNIQUE INDEX bridge_events_bodies ON bridge_events (source, body_sha256)
  WHERE source NOT IN ('dashboard', 'schedule');
-- One event of an issue is planned at a time, however many bridges claim.
CREATE UNIQUE INDEX bridge_events_processing ON bridge_events (target) WHERE state = 'processing';
CREATE INDEX bridge_events_leases ON bridge_events (claimed_until) WHERE state = 'processing';
CREATE INDEX bridge_events_due ON bridge_events (due_at, seq) WHERE state = 'pending';
CREATE INDEX bridge_events_by_state ON bridge_events (state, seq);
CREATE INDEX bridge_events_by_run ON bridge_events (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX bridge_events_by_issue ON bridge_events (target, seq) WHERE issue_sha256 IS NOT NULL;
CREATE INDEX bridge_events_ended ON bridge_events (changed_at) WHERE state IN ('done', 'skipped', 'dead');

CREATE TABLE bridge_deliveries (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  dashboard text NOT NULL,
  run_id text NOT NULL,
  status text NOT NULL,
  body text NOT NULL,
  run_updated_at text NOT NULL,
  state text NOT NULL CHECK (state IN ('pending', 'processing', 'done', 'skipped', 'dead')),
  created_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due_at bigint,
  claim text,
  claimed_until bigint,
  reason_code text,
  reason text,
  UNIQUE (dashboard, run_id, status)
);
CREATE INDEX bridge_deliveries_leases ON bridge_deliveries (claimed_until) WHERE state = 'processing';
CREATE INDEX bridge_deliveries_due ON bridge_deliveries (due_at, seq) WHERE state = 'pending';
CREATE INDEX bridge_deliveries_by_state ON bridge_deliveries (dashboard, state);
CREATE INDEX bridge_deliveries_of_run ON bridge_deliveries (dashboard, run_id, seq) WHERE state IN ('pending', 'processing');
CREATE INDEX bridge_deliveries_ended ON bridge_deliveries (changed_at) WHERE state IN ('done', 'skipped', 'dead');

CREATE TABLE bridge_schedules (
  name text PRIMARY KEY,
  evaluated_until bigint NOT NULL,
  result text
);

-- When the bus last called for schedules, whichever bridge it called.
CREATE TABLE bridge_ticks (
  the_one boolean PRIMARY KEY DEFAULT true CHECK (the_one),
  at bigint NOT NULL
);

-- How far each repository was asked for what its forge did not deliver, by the forge's clock.
CREATE TABLE bridge_catch_ups (
  forge text NOT NULL,
  owner text NOT NULL,
  repo text NOT NULL,
  until bigint NOT NULL,
  PRIMARY KEY (forge, owner, repo)
);
