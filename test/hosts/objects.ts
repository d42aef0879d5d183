import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { Problems } from './problems.ts';
import type { Surroundings } from './surroundings.ts';

/** What rows of the database name in the bucket is there, byte for byte. */
export async function objectProblems({ pair, database, s3 }: Surroundings): Promise<Problems> {
  const artifacts = await pair.ask<{ object: string; digest: string }>(
    database,
    'SELECT object, digest FROM run_artifacts WHERE object IS NOT NULL',
  );
  const pieces = await pair.ask<{ object: string; digest: string }>(
    database,
    `SELECT 'context/' || digest || '-' || piece AS object, digest FROM context_pieces
     WHERE piece IN (SELECT unnest(pieces) FROM context_backups)`,
  );
  const isLost = ({ object, digest }: { object: string; digest: string }) => {
    const file = s3.fileOf(s3.settings.prefix + object);
    if (!existsSync(file)) return true;
    return createHash('sha256').update(readFileSync(file)).digest('hex') !== digest;
  };
  const lost = (ones: typeof artifacts) => ones.filter(isLost).map(({ object }) => object);
  return {
    'lost objects of artifacts': artifacts.length === 0 ? ['there are none'] : lost(artifacts),
    'lost pieces of context backups': pieces.length === 0 ? ['there are none'] : lost(pieces),
  };
}
