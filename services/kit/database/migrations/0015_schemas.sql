-- The version of each service's tables, whose definitions stand beside the code that uses them, and the lowest that may work with them.
CREATE TABLE core_schemas (
  service text PRIMARY KEY,
  version integer NOT NULL,
  lowest integer NOT NULL
);
