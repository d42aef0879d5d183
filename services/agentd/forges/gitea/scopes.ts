import type { LackingScope } from '../configured-forge.ts';

/** What Core needs of a token, and for what. */
const needed: readonly LackingScope[] = [
  { scope: 'read:user', needed_by: 'execute-approved, which acts under its own name' },
  {
    scope: 'read:organization',
    needed_by: 'plan-issue, which asks who is a member of an organisation and so trusted',
  },
  { scope: 'write:repository', needed_by: 'execute-approved, which pushes and opens pull requests' },
  { scope: 'write:issue', needed_by: 'execute-approved, which comments on the issue' },
];

/** What a list of scopes does not allow; to write allows to read. */
export function lackingOf(scopes: readonly string[]): LackingScope[] {
  if (scopes.includes('all')) return [];
  return needed.filter(
    ({ scope }) => !scopes.includes(scope) && !scopes.includes(scope.replace('read:', 'write:')),
  );
}

/** Those of them that a refusal names. */
export function lackingIn(words: string): LackingScope[] {
  return needed.filter(({ scope }) => new RegExp(`required scope\\(s\\)[^\\]]*\\b${scope}\\b`).test(words));
}

/** Since 1.23 a refusal for lack of a scope says which the token has; null where it does not. */
export function scopesIn(words: string): string[] | null {
  const found = /\btoken scope=([a-z:,-]+)/.exec(words)?.[1];
  return found === undefined ? null : found.split(',');
}
