import { InvalidInput, Refused, Unavailable } from '#kit/errors.ts';
import { largestReply } from './cypher-engine.ts';
import { invalidAt, placeOf } from './text/place.ts';

export function tooLargeReply(what: string): Refused {
  const limit = `${largestReply / 1024 / 1024} MiB`;
  return new Refused(
    'cypher_too_large',
    `${what} takes the reply over ${limit}, the limit; return less, or fewer rows`,
  );
}

export function tooMuchMemory(limit: string): Refused {
  return new Refused('cypher_too_large', `the query was ended because it takes more than ${limit} of memory`);
}

export function tooSlow(seconds: number): Refused {
  const hint = 'begin at fewer nodes, bound the length of paths, or raise cypher.seconds in context.json';
  return new Refused('cypher_too_slow', `the query was ended after ${seconds} s, the limit`, { hint });
}

export function tooBusy(waiting: number): Unavailable {
  return new Unavailable('cypher_busy', `${waiting} queries are waiting; ask again later`, { retryAfter: 2 });
}

export function waitedTooLong(): Unavailable {
  const detail = 'other queries took the whole time that this one may take; ask again later';
  return new Unavailable('cypher_busy', detail, { retryAfter: 2 });
}

/** @param progress how far it is, for people */
export function stillLoading(progress: string): Unavailable {
  const detail = `the graph is being loaded for Cypher${progress}; ask again later`;
  return new Unavailable('projection_loading', detail, { retryAfter: 5 });
}

const deepest = 32;
const longestQuery = 20_000;

/** @throws InvalidInput (`cypher_invalid`, `invalid_input`) for what neither engine may be handed */
export function checkCall(query: string, params: Readonly<Record<string, unknown>>): void {
  if (query.length > longestQuery)
    throw invalidAt(null, `it has ${query.length} characters; ${longestQuery} is the limit`);
  const nul = query.indexOf('\0');
  if (nul !== -1) throw invalidAt(placeOf(query, nul), 'a NUL character');
  if (!query.isWellFormed()) throw invalidAt(null, 'half of a surrogate pair');
  for (const [name, value] of Object.entries(params)) checkParameter(`/params/${name}`, value, deepest);
}

function checkParameter(pointer: string, value: unknown, depth: number): void {
  const refuse = (rule: string) => {
    throw new InvalidInput('invalid_input', `${pointer} ${rule}`, { errors: [{ pointer, detail: rule }] });
  };
  if (depth === 0) refuse(`is nested more than ${deepest} levels deep, the limit`);
  if (typeof value === 'string' && !value.isWellFormed()) refuse('holds half of a surrogate pair');
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    refuse('is an integer beyond 2^53; send it as text');
  if (value === null || typeof value !== 'object') return;
  for (const [key, each] of Object.entries(value)) {
    if (!Array.isArray(value) && key.startsWith('_')) refuse(`has a key that begins with _, ${key}`);
    checkParameter(`${pointer}/${key}`, each, depth - 1);
  }
}
