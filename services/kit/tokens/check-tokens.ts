import { hash, timingSafeEqual } from 'node:crypto';
import type { Account } from '../contracts/account.ts';
import type { Folders } from '../folders.ts';
import { inForce, type Scope, type TokenRecord } from './token.ts';
import { readRegistry, registryVersion } from './token-files.ts';

export interface Identity {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** sha256 of the token's text; left out of an account and of a key of a run. */
  readonly token?: string;
  /** Whoever the identity provider signed in; left out of a token. */
  readonly providerAccount?: Account;
}

export interface Tokens {
  /** Who a token belongs to; null when it is unknown, revoked or expired. Sees changes of other processes at once, of other hosts within a second. */
  authenticate(text: string): Identity | null;
  /** To be awaited before `authenticate`, where the answer has to be asked for; null where it is known. Rejects with Unavailable. */
  lookUp?(text: string): Promise<void> | null;
  list(): readonly TokenRecord[];
  /**
   * To be awaited before `list` by what can wait: a process that stood still has to look again first. Resolves in a few seconds, also
   * where nothing was seen; `list` throws then.
   */
  fresh?(): Promise<void>;
  /** Milliseconds since 1970, by the clock that decides when tokens expire. */
  now(): number;
}

/** Texts and registry lie together where nobody says otherwise. */
export type TokenFolders = Pick<Folders, 'tokens'> & Partial<Pick<Folders, 'registry'>>;

/** Named, scoped tokens of this installation: plain in `<name>.token` for clients, hashed in `registry.json` for servers. */
export function openTokens(folders: TokenFolders, clock: () => number = Date.now): Tokens {
  let version: string | null = null;
  let records: readonly TokenRecord[] = [];

  function current(): readonly TokenRecord[] {
    const newest = registryVersion(registryOf(folders));
    if (newest === version) return records;
    const registry = readRegistry(registryOf(folders));
    version = registry?.version ?? null;
    records = registry?.records ?? [];
    return records;
  }

  return tokensOf(current, clock);
}

/** @param current the same list for as long as nothing changed */
export function tokensOf(current: () => readonly TokenRecord[], now: () => number): Tokens {
  let digested: readonly TokenRecord[] = [];
  let digests: readonly Buffer[] = [];

  function recordOf(text: string): TokenRecord | null {
    const all = current();
    if (all !== digested) digests = all.map((record) => Buffer.from(record.sha256, 'hex'));
    digested = all;
    const given = hash('sha256', text, 'buffer');
    let found: TokenRecord | null = null;
    for (const [at, record] of all.entries()) {
      if (timingSafeEqual(given, digests[at]!)) found = record;
    }
    return found;
  }

  return {
    authenticate(text) {
      const found = recordOf(text);
      if (found === null || !inForce(found, now())) return null;
      return { name: found.name, scopes: found.scopes, token: found.sha256 };
    },
    list: current,
    now,
  };
}

export function registryOf({ tokens, registry }: TokenFolders): string {
  return registry ?? tokens;
}
