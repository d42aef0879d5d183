import { InvalidInput } from '../../errors.ts';

/** Names of tokens have no colon and no slash, so that none reads as one of these. */
const [agent, other] = ['mcp:', 'token:'];
const maxLength = 500;

/** The source of a memory that a client of the Model Context Protocol stored by a token of this name. */
export function agentSource(token: string): string {
  return `${agent}${token}`;
}

/**
 * The source of a memory that a token stored: its name, with `token:` before it if it may not approve, and behind a slash what the caller
 * named. core-agentd alone names whom it speaks for.
 * @throws InvalidInput (`invalid_input`) for a source that is too long
 */
export function tokenSource(
  { name, scopes }: { readonly name: string; readonly scopes: readonly string[] },
  named: string | null | undefined,
): string {
  if (name === 'agentd' && named != null) return named;
  const own = scopes.includes('approve') ? name : `${other}${name}`;
  const source = named == null || named === name ? own : `${own}/${named}`;
  if (source.length <= maxLength) return source;
  const detail = `is too long: with the name of the token before it, at most ${maxLength} characters`;
  throw new InvalidInput('invalid_input', `the memory: /source ${detail}`, {
    errors: [{ pointer: '/source', detail }],
  });
}

/** False for what agents and tokens that may not approve stored: it may come from anywhere. */
export function isVouchedFor(source: string | null): boolean {
  return source === null || !(source.startsWith(agent) || source.startsWith(other));
}
