-- Calls whose upstream reported tokens in numbers that contradict each other; they count at their highest reading.
ALTER TABLE gateway_calls ADD COLUMN contradictory boolean NOT NULL DEFAULT false;
ALTER TABLE gateway_totals ADD COLUMN contradictory bigint NOT NULL DEFAULT 0;
