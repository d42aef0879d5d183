import { NotFound } from '../errors.ts';
import { openTokens, type TokenFolders } from './check-tokens.ts';
import type { TokenRegistry } from './registry.ts';
import { createToken, revokeToken } from './tokens.ts';

/** Tokens of one machine. */
export function fileTokens(folders: TokenFolders): TokenRegistry {
  return {
    ...openTokens(folders),
    shared: null,
    create: async (token) => createToken(folders, token),
    async revoke(name, host) {
      if (host === undefined) return { record: revokeToken(folders, name), elsewhere: [] };
      throw new NotFound(
        'token_not_found',
        `there is no token ${JSON.stringify(name)} of host ${JSON.stringify(host)}: storage.kind is files, so that all tokens are this machine's`,
        { hint: `./core token revoke ${name}` },
      );
    },
    close: async () => {},
  };
}
