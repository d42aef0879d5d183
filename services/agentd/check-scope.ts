import { Refused } from '#kit/errors.ts';
import { whose } from '#kit/identity-name.ts';
import type { Person } from './agent.ts';

/** @throws Refused (`scope_missing`) */
export function checkScope(by: Pick<Person, 'name' | 'scopes'>, scope: string): void {
  if (by.scopes.includes(scope) || by.scopes.includes('admin')) return;
  throw new Refused(
    'scope_missing',
    `${whose(by.name)} has the scopes ${by.scopes.join(', ') || 'none'}; this needs ${scope}`,
  );
}
