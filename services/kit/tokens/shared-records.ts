import type { TokenRecord } from './token.ts';
import { laterScopes } from './tokens.ts';

export interface Joined {
  readonly records: readonly TokenRecord[];
  /** Of this host's own, those whose name another token has. */
  readonly refused: readonly TokenRecord[];
}

/**
 * What several hosts' records become with those of a host's own registry.json. A name is never taken from another token, also not
 * from one that was revoked, and no revocation is undone.
 */
export function joinRecords(
  shared: readonly TokenRecord[],
  own: readonly TokenRecord[],
  host: string,
): Joined {
  const ownBySha = new Map(own.map((record) => [record.sha256, record]));
  const kept = shared.map((record) => {
    const revoked = record.revoked ?? ownBySha.get(record.sha256)?.revoked ?? null;
    const scopes = laterScopes(record);
    if (revoked === record.revoked && scopes === null) return record;
    return { ...record, revoked, scopes: [...(scopes ?? record.scopes)] };
  });
  const known = new Set(shared.map(({ sha256 }) => sha256));
  const names = new Set(shared.filter(({ kind }) => kind !== 'service').map(({ name }) => name));
  const unknown = own.filter(({ sha256 }) => !known.has(sha256));
  const refused = unknown.filter(({ name, kind }) => kind !== 'service' && names.has(name));
  const added = unknown.filter((record) => !refused.includes(record)).map((record) => ({ ...record, host }));
  return { records: [...kept, ...added], refused };
}

/** Which of two lists' records are new or different, and which are gone. */
export function changesBetween(
  before: readonly TokenRecord[],
  after: readonly TokenRecord[],
): { readonly written: readonly TokenRecord[]; readonly gone: readonly string[] } {
  const left = new Set(after.map(({ sha256 }) => sha256));
  return {
    written: after.filter((record) => !before.includes(record)),
    gone: before.filter(({ sha256 }) => !left.has(sha256)).map(({ sha256 }) => sha256),
  };
}
