import { InvalidInput, Refused } from '#kit/errors.ts';

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
