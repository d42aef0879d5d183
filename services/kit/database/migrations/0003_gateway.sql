-- What calls of models use and cost, for all gateways on this database. Money is in micro-dollars, days are in UTC.
CREATE TABLE gateway_keys (
  id text PRIMARY KEY,
  sha256 text NOT NULL UNIQUE,
  run text NOT NULL,
  models text[],
  budget bigint,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);
CREATE INDEX gateway_keys_of_run ON gateway_keys (run);
CREATE INDEX gateway_keys_by_end ON gateway_keys (expires_at) WHERE revoked_at IS NULL;

-- What budgets are counted against: day:2026-11-22 and run:run_0199… Whoever changes one locks it first, in the order of names.
CREATE TABLE gateway_balances (
  name text COLLATE "C" PRIMARY KEY,
  used bigint NOT NULL DEFAULT 0,
  reserved bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 20);

CREATE TABLE gateway_calls (
  id uuid PRIMARY KEY,
  gateway uuid NOT NULL,
  began_at timestamptz NOT NULL,
  day text NOT NULL,
  account text NOT NULL,
  run text,
  model text NOT NULL,
  upstream text NOT NULL,
  state text NOT NULL CHECK (state IN ('under_way', 'done', 'aborted', 'failed', 'unsettled')),
  reserved bigint NOT NULL,
  input bigint NOT NULL,
  output bigint NOT NULL,
  cached bigint NOT NULL DEFAULT 0,
  cache_writes bigint NOT NULL DEFAULT 0,
  estimated boolean NOT NULL DEFAULT true,
  cost bigint NOT NULL,
  sent_bytes bigint NOT NULL DEFAULT 0,
  ms bigint NOT NULL DEFAULT 0,
  first_token_ms bigint
);
CREATE INDEX gateway_calls_under_way ON gateway_calls (gateway) WHERE state = 'under_way';
CREATE INDEX gateway_calls_by_time ON gateway_calls (began_at);

-- Sums of the calls that ended, written in the same commit; they stay when old calls are deleted.
CREATE TABLE gateway_totals (
  account text NOT NULL,
  day text NOT NULL,
  model text NOT NULL,
  upstream text NOT NULL,
  run text,
  calls bigint NOT NULL,
  aborted bigint NOT NULL,
  failed bigint NOT NULL,
  estimated bigint NOT NULL,
  unsettled bigint NOT NULL,
  input bigint NOT NULL,
  output bigint NOT NULL,
  cached bigint NOT NULL,
  cache_writes bigint NOT NULL,
  cost bigint NOT NULL,
  PRIMARY KEY (account, day, model, upstream)
);
CREATE INDEX gateway_totals_of_day ON gateway_totals (day);
CREATE INDEX gateway_totals_of_run ON gateway_totals (run) WHERE run IS NOT NULL;
