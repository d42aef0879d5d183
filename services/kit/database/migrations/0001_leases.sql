-- Exclusive rights for a while, by this server's clock: see leaseTables. Times are milliseconds since 1970.
CREATE TABLE leases (
  name text COLLATE "C" PRIMARY KEY,
  token text NOT NULL,
  fencing bigint NOT NULL,
  boot_id text NOT NULL,
  pid_namespace text NOT NULL,
  pid bigint NOT NULL,
  process_started text NOT NULL,
  host text NOT NULL,
  acquired_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
