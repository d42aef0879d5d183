import type { MaskedSecret } from '#kit/redaction/secret-finder.ts';
import type { NewEvent } from './event.ts';
import type { Run } from './run.ts';

/** What the record of a run does not say yet of masked secrets; no event where there is nothing new. */
export function maskedEvents(run: Pick<Run, 'masked'>, found: readonly MaskedSecret[]): NewEvent[] {
  const known = new Set(run.masked.map(keyOf));
  const fresh = found.filter((one) => !known.has(keyOf(one)));
  return fresh.length === 0 ? [] : [{ type: 'secrets_masked', data: { found: fresh } }];
}

function keyOf({ kind, fingerprint, place }: MaskedSecret): string {
  return JSON.stringify([kind, fingerprint, place]);
}
