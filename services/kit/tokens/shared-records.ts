import type { TokenRecord } from './token.ts';
import { fateOf } from './token-history.ts';
import { laterScopes } from './tokens.ts';

export interface Joined {
  readonly records: readonly TokenRecord[];
  /** Of this host's own, those whose name another token has. */
  readonly refused: readonly TokenRecord[];
  /** This host's own that are over: revoked or rotated elsewhere, or a rotation of a token that was revoked meanwhile. */
  readonly ended: readonly TokenRecord[];
}

/**
 * What several hosts' records become with those of a host's own registry.json. A name is never taken from another token, also not
 * from one that was revoked, and no revocation is undone. A rotation that this host began and did not register is completed.
 */
export function joinRecords(
  shared: readonly TokenRecord[],
  own: readonly TokenRecord[],
  host: string,
): Joined {
  const ownBySha = new Map(own.map((record) => [record.sha256, record]));
  const nextOf = rotatedHere(shared, own);
  const kept = shared.map((record) => {
    const next = record.revoked === null ? nextOf.get(record.sha256) : undefined;
    if (next !== undefined) return { ...next, host };
    const revoked = record.revoked ?? ownBySha.get(record.sha256)?.revoked ?? null;
    const scopes = laterScopes(record);
    if (revoked === record.revoked && scopes === null) return record;
    return { ...record, revoked, scopes: [...(scopes ?? record.scopes)] };
  });
  const known = new Set(kept.map(({ sha256 }) => sha256));
  const names = new Set(shared.filter(({ kind }) => kind !== 'service').map(({ name }) => name));
  const over = new Set(kept.flatMap(({ former = [] }) => former.map(({ sha256 }) => sha256)));
  const revoked = new Set(kept.filter((record) => record.revoked !== null).map(({ sha256 }) => sha256));
  const late = new Set([...nextOf].flatMap(([before, { sha256 }]) => (revoked.has(before) ? [sha256] : [])));
  const isOver = ({ sha256 }: TokenRecord) => [over, revoked, late].some((digests) => digests.has(sha256));
  const unknown = own.filter((record) => !known.has(record.sha256) && !isOver(record));
  const refused = unknown.filter(({ name, kind }) => kind !== 'service' && names.has(name));
  const added = unknown.filter((record) => !refused.includes(record)).map((record) => ({ ...record, host }));
  const ended = own.filter((record) => record.revoked === null && isOver(record));
  return { records: [...kept, ...added], refused, ended };
}

/** This host's records that continue one of several hosts by rotations alone, by the digest of that one. */
function rotatedHere(shared: readonly TokenRecord[], own: readonly TokenRecord[]): Map<string, TokenRecord> {
  const known = new Set(shared.map(({ sha256 }) => sha256));
  return new Map(
    own
      .filter(({ sha256 }) => !known.has(sha256))
      .flatMap((next) => {
        const before = shared.find(
          ({ name, sha256 }) =>
            name === next.name && fateOf([next], name, sha256)?.rotations.at(-1)?.to === next.sha256,
        );
        return before === undefined ? [] : [[before.sha256, next] as const];
      }),
  );
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
