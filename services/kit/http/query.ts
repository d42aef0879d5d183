import type * as t from 'io-ts';
import { decode } from '../decode.ts';
import { InvalidInput } from '../errors.ts';
import type { Route } from './route.ts';

/** The query parameters that the route declares; ones given twice are refused, and unknown ones unless the route ignores them. */
export function declaredQuery(query: Record<string, unknown>, route: Route): Record<string, string> {
  const known = Object.keys(route.query ?? {});
  const declared: Record<string, string> = {};
  for (const [name, value] of Object.entries(query)) {
    const broken = (detail: string) =>
      new InvalidInput('invalid_query', `query parameter ${name} ${detail}`, {
        errors: [{ pointer: `/${name}`, detail }],
      });
    if (!known.includes(name) && route.anyQuery === true) continue;
    if (!known.includes(name))
      throw broken(`is not known here: must be one of ${known.join(', ') || 'none'}`);
    if (typeof value !== 'string') throw broken('is given twice: must be given once');
    declared[name] = value;
  }
  return declared;
}

/** One of them. @throws InvalidInput (`invalid_query`) */
export function queryValue<A>(codec: t.Decoder<unknown, A>, text: string, name: string): A {
  try {
    return decode(codec, text, name, 'invalid_query');
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    const detail = error.errors[0]?.detail ?? error.message;
    throw new InvalidInput('invalid_query', `query parameter ${name} ${detail}`, {
      errors: [{ pointer: `/${name}`, detail }],
    });
  }
}
