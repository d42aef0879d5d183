-- Appends to a run whose newest event has the hash `before`, and only while the lease is held by `holder`, where that is given: all of
-- it or nothing. A function, so that the server plans its statements once for each connection. A Core that keeps more about a run adds
-- another one, with more parameters, and leaves this one to the Core before it.
CREATE FUNCTION core_append_events(
  run text, before text, lease text, holder text, lock_ms integer,
  seqs integer[], lines text[], prevs text[], hashes text[],
  next_seq integer, next_hash text, next_type text, next_size bigint, next_status text, next_title text,
  next_updated_at text, next_highest_risk text, next_waiting integer, next_waits_for text, next_actions integer,
  next_asked_by text, next_decided_by text, next_words text,
  OUT appended boolean, OUT held boolean
) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('lock_timeout', lock_ms::text, true);
  appended := false;
  held := true;
  IF holder IS NOT NULL THEN
    -- Before the row of the run, as wherever both are locked: nobody takes the lease over before this ends.
    PERFORM FROM leases WHERE name = lease AND token = holder FOR SHARE;
    held := FOUND;
  END IF;
  IF held THEN
    UPDATE runs SET
      seq = next_seq, hash = next_hash, type = next_type, size = next_size, status = next_status, title = next_title,
      updated_at = next_updated_at, highest_risk = next_highest_risk, waiting = next_waiting, waits_for = next_waits_for,
      actions = next_actions, asked_by = next_asked_by, decided_by = next_decided_by, words = next_words,
      changed_at = clock_timestamp(), changed_in = pg_current_xact_id()
    WHERE run_id = run AND hash = before AND tombstone IS NULL;
    appended := FOUND;
  END IF;
  IF appended THEN
    INSERT INTO run_events (run_id, seq, line, prev, hash) SELECT run, * FROM unnest(seqs, lines, prevs, hashes);
  END IF;
END $$;

-- The function says itself which transaction it is.
DROP TRIGGER runs_changed ON runs;
CREATE TRIGGER runs_created BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION core_run_changed();
CREATE TRIGGER runs_changed BEFORE UPDATE OF size ON runs
  FOR EACH ROW WHEN (NEW.changed_in = OLD.changed_in) EXECUTE FUNCTION core_run_changed();

-- Events come in one transaction with the row of their run, and no row of a run is ever deleted.
ALTER TABLE run_events DROP CONSTRAINT run_events_run_id_fkey;
