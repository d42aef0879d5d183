-- The time of this server, in milliseconds since 1970.
CREATE FUNCTION core_clock_ms() RETURNS bigint LANGUAGE sql VOLATILE
  AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;
