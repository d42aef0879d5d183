-- Exclusive rights for a while, by this server's clock. A fencing number is never given twice.
CREATE SEQUENCE lease_fencing AS bigint;

CREATE TABLE leases (
  name text PRIMARY KEY,
  token uuid NOT NULL,
  fencing bigint NOT NULL DEFAULT nextval('lease_fencing'),
  boot_id text NOT NULL,
  pid_namespace text NOT NULL,
  pid integer NOT NULL,
  process_started text NOT NULL,
  host text NOT NULL,
  acquired_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL
);
