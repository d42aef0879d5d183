import { Forbidden } from '#kit/errors.ts';
import type { RouteRequest } from '#kit/http/route.ts';
import type { Scope } from '#kit/tokens.ts';

/**
 * For what only some requests of a route may do.
 * @param what completes "… needs"
 * @throws Forbidden (`scope_missing`)
 */
export function requireScope(identity: RouteRequest['identity'], scope: Scope, what: string): void {
  if (identity?.scopes.includes(scope)) return;
  const who =
    identity === null ? 'nobody' : `token ${identity.name} has the scopes ${identity.scopes.join(', ')}`;
  throw new Forbidden('scope_missing', `${who}; ${what} needs ${scope}`);
}
