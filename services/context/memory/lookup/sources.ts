import type { DatabaseSync } from 'node:sqlite';
import { prepared } from '../../record/connection.ts';

/** Every stored source once, by steps through its index. */
const sources = `
  WITH RECURSIVE sources (source) AS (
    SELECT min(source) FROM memory_sightings WHERE source IS NOT NULL
    UNION ALL
    SELECT (SELECT min(source) FROM memory_sightings WHERE source > sources.source) FROM sources WHERE source IS NOT NULL
  )
  SELECT source FROM sources WHERE source IS NOT NULL`;

/**
 * The stored sources that a caller means: that very one; else those stored for it behind the name of a token, as `tokenSource` of
 * kit/contracts/context/memory-source.ts writes them: `handbook` is `mira/handbook` and `token:bot/handbook`, and `bot` is `token:bot`.
 */
export function sourcesMeant(db: DatabaseSync, source: string): string[] {
  if (prepared(db, 'SELECT 1 FROM memory_sightings WHERE source = ? LIMIT 1').get(source) !== undefined)
    return [source];
  const rows = prepared(
    db,
    `${sources} AND (source = 'token:' || ?1 OR (instr(source, '/') > 0 AND substr(source, instr(source, '/') + 1) = ?1))`,
  ).all(source) as { source: string }[];
  return rows.map((row) => row.source);
}

const maxKnown = 10;

/** Some of the stored sources, those with the name in them first. */
export function knownSources(db: DatabaseSync, source: string): string[] {
  const rows = prepared(
    db,
    `${sources} ORDER BY instr(lower(source), lower(?)) = 0, source LIMIT ${maxKnown}`,
  ).all(source) as { source: string }[];
  return rows.map((row) => row.source);
}
