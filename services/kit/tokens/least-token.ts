import type { Folders } from '../folders.ts';
import { readTokenFile, tokenPath } from './token-files.ts';
import { ensureTokens, openTokens, type Scope, tokenAtHand } from './tokens.ts';

/**
 * Text of that token of the person or of a part of Core which can do what is wanted and least beside it; where none at hand can do all
 * of it, that of `tokenAtHand`.
 * @throws NotFound (`token_missing`)
 */
export function leastToken(
  folders: Pick<Folders, 'tokens'> & Partial<Pick<Folders, 'registry'>>,
  wanted: readonly Scope[],
): string {
  ensureTokens(folders);
  const tokens = openTokens(folders);
  const able = tokens
    .list()
    .filter(({ kind, scopes }) => kind !== 'named' && wanted.every((scope) => scopes.includes(scope)))
    .toSorted((one, other) => one.scopes.length - other.scopes.length);
  for (const { name } of able) {
    const text = readTokenFile(tokenPath(folders.tokens, name));
    if (text !== null && tokens.authenticate(text)?.name === name) return text;
  }
  return tokenAtHand(folders);
}
