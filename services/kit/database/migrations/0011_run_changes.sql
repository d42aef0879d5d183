-- The transaction that last changed a run's log, so that whoever follows runs reads those that changed. By a trigger, because
-- an older Core beside this one writes runs too.
ALTER TABLE runs ADD COLUMN changed_in xid8 NOT NULL DEFAULT '0';

CREATE FUNCTION core_run_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed_in := pg_current_xact_id();
  RETURN NEW;
END $$;
CREATE TRIGGER runs_changed BEFORE INSERT OR UPDATE OF size ON runs
  FOR EACH ROW EXECUTE FUNCTION core_run_changed();

CREATE INDEX runs_by_change ON runs (changed_in);
