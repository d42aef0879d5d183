-- The version of each service's tables, whose definitions stand beside the code that uses them.
CREATE TABLE core_schemas (
  service text PRIMARY KEY,
  version integer NOT NULL
);
