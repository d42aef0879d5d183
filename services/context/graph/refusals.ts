import { InvalidInput, Refused, Unavailable } from '#kit/errors.ts';
import { FairSemaphore, type SemaphoreLimits } from '#kit/jobs/fair-semaphore.ts';
import { maxReplyBytes } from './cypher-engine.ts';

/** A place in a query; both count from 1, columns in UTF-16 units. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export function placeOf(query: string, offset: number): Place {
  const before = query.slice(0, offset).split(/\r\n|\r|\n/);
  return { line: before.length, column: before.at(-1)!.length + 1 };
}

/** 400 `cypher_invalid`: the query is wrong there. */
export function invalidAt(place: Place | null, why: string): InvalidInput {
  const where = place === null ? '' : `line ${place.line}, column ${place.column}: `;
  return new InvalidInput('cypher_invalid', `the query is wrong: ${where}${why}`, {
    errors: [{ pointer: '/query', detail: `${where}${why}` }],
    facts: { ...place },
  });
}

/** 422: the query is understood and not allowed, or the engine at hand cannot do it right. */
export function refusedAt(
  code: 'cypher_read_only' | 'cypher_not_supported',
  place: Place | null,
  why: string,
): Refused {
  const where = place === null ? '' : `line ${place.line}, column ${place.column}: `;
  return new Refused(code, `${where}${why}`, {
    errors: [{ pointer: '/query', detail: `${where}${why}` }],
    facts: { ...place },
  });
}

export function tooLargeReply(what: string): Refused {
  const limit = `${maxReplyBytes / 1024 / 1024} MiB`;
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

export const maxQueriesWaiting = 128;

export function tooBusy(waiting: number): Unavailable {
  return new Unavailable('cypher_busy', `${waiting} queries are waiting; ask again later`, { retryAfter: 2 });
}

/** The queue before an engine. */
export function cypherQueue(limits: Pick<SemaphoreLimits, 'concurrency' | 'perCaller'>): FairSemaphore {
  return new FairSemaphore(
    { ...limits, maxPending: maxQueriesWaiting, maxPendingPerCaller: maxQueriesWaiting / 2 },
    (reason, { waiting }) => (reason === 'full' ? tooBusy(waiting) : waitedTooLong()),
  );
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
const maxQueryLength = 20_000;

/** @throws InvalidInput (`cypher_invalid`, `invalid_input`) for what neither engine may be handed */
export function checkCall(query: string, params: Readonly<Record<string, unknown>>): void {
  if (query.length > maxQueryLength)
    throw invalidAt(null, `it has ${query.length} characters; ${maxQueryLength} is the limit`);
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
