import { readPostgresSettings } from '../config/storage.ts';
import { Conflict, NotFound } from '../errors.ts';
import type { Folders } from '../folders.ts';
import { type Identity, openTokens, type TokenFolders } from './check-tokens.ts';
import type { TokenRegistry } from './registry.ts';
import { tokenPath } from './token-files.ts';
import { createToken, ownToken, revokeToken, rotateToken } from './tokens.ts';

export interface OpenOptions {
  /** Called with which of this host's own tokens the database does not take. */
  readonly warn?: (message: string) => void;
}

/**
 * As `storage` of core.json says. A database that does not answer yet is no error: what asks about tokens is refused until it does.
 * @throws InvalidInput (`config_invalid`), Failed (`database_refused`, `database_not_trusted`, `database_newer` …)
 */
export async function openRegistry(folders: Folders, options: OpenOptions = {}): Promise<TokenRegistry> {
  const settings = readPostgresSettings(folders);
  if (settings === null) return fileTokens(folders);
  const { openPostgresTokens } = await import('./postgres-tokens.ts');
  return openPostgresTokens(folders, settings, options);
}

/**
 * The token of whoever types commands here, as the registry knows it.
 * @throws NotFound (`token_missing`), Conflict (`token_not_registered`) where the database knows another one of that name
 */
export async function registeredOwnToken(folders: Folders, registry: TokenRegistry): Promise<Identity> {
  const { text, ...own } = ownToken(folders);
  const { name, scopes } = own;
  // It may have been made after the registry was opened.
  await registry.lookUp?.(text);
  if (registry.shared === null || registry.authenticate(text) !== null) return own;
  const path = tokenPath(folders.tokens, name);
  const known = registry.list().find((record) => record.name === name);
  const which =
    known === undefined
      ? 'does not know it'
      : `knows another one of that name, made on ${known.host}${known.revoked === null ? '' : ` and revoked at ${known.revoked}`}`;
  throw new Conflict(
    'token_not_registered',
    `${path} holds a token of this host, and ${registry.shared} ${which}`,
    {
      facts: { path, name },
      hint: `Copy ${name}.token from that host to here, or make one of another name: ./core token create NAME --scopes ${scopes.join(',')}`,
    },
  );
}

/** Tokens of one machine. */
export function fileTokens(folders: TokenFolders): TokenRegistry {
  return {
    ...openTokens(folders),
    shared: null,
    create: async (token) => createToken(folders, token),
    rotate: async (token) => rotateToken(folders, token),
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
