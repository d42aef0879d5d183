-- One row since the storage was first moved into this database or out of it.
CREATE TABLE storage_state (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  state text NOT NULL CHECK (state IN ('filling', 'used', 'moved')),
  installation uuid NOT NULL,
  place text NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Of the trigger core_moved, which every table has while a move fills it, and after everything moved elsewhere.
CREATE FUNCTION core_refuse_writes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  moved storage_state;
BEGIN
  SELECT * INTO moved FROM storage_state;
  IF current_setting('core.mover', true) = moved.installation::text THEN
    RETURN NULL;
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'CR001', MESSAGE = CASE moved.state
    WHEN 'moved' THEN 'what was in it moved to ' || moved.place
    ELSE 'a move from ' || moved.place || ' into it has not come to its end' END;
END $$;
