-- Who is signed in to the review page of any host, and who is about to be, by digests. Times as in 0005_bridge.
CREATE TABLE review_sessions (
  sha256 text PRIMARY KEY,
  owner_key text NOT NULL,
  owner text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE
);
CREATE INDEX review_sessions_owner ON review_sessions (owner_key);

-- Links that were not used. `browser` is the one that opened it first.
CREATE TABLE review_links (
  sha256 text PRIMARY KEY,
  owner_key text NOT NULL,
  owner text NOT NULL,
  browser text,
  expires_at bigint NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE
);

-- Sign-ins under way at the identity provider.
CREATE TABLE review_attempts (
  sha256 text PRIMARY KEY,
  browser text NOT NULL,
  attempt text NOT NULL,
  expires_at bigint NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE
);
CREATE INDEX review_attempts_browser ON review_attempts (browser);
