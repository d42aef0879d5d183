import { ShownToken } from '../contracts/token.ts';
import { Forbidden } from '../errors.ts';
import type { HttpClient } from '../http/client.ts';
import type { Scope } from '../tokens.ts';

/**
 * Whether another service answers, and lets the token of this one do what is needed there. Nothing behind it is asked.
 * @returns a word for people
 * @throws what the client throws, Forbidden (`scope_missing`)
 */
export async function takesToken(
  client: HttpClient,
  needed: readonly Scope[],
  signal: AbortSignal,
): Promise<string> {
  const { name, scopes } = await client.get('/v1/token', ShownToken, { signal });
  const missing = needed.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return `answers, and takes the token ${name}`;
  throw new Forbidden(
    'scope_missing',
    `token ${name} has the scopes ${scopes.join(', ')}; this needs ${missing.join(', ')} too`,
    { hint: './core secrets init, or the next ./core up, adds scopes that are new.' },
  );
}
