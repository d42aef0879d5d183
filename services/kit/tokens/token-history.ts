import type { FormerToken, TokenRecord } from './token.ts';

/** What of a record its history needs. */
export type TokenHistory = Pick<TokenRecord, 'name' | 'created' | 'revoked' | 'former'> & {
  readonly sha256: string;
};

/** One token took the place of another one of the same name, and continues it. */
export interface TokenRotation {
  readonly from: string;
  readonly to: string;
  /** RFC 3339. */
  readonly at: string;
}

/** What became of a token. */
export interface TokenFate<R extends TokenHistory> {
  /** The token that has its name now: itself, or a later one. */
  readonly current: R;
  /** When it, or a later token of its name, was revoked; null if none was. */
  readonly revoked: string | null;
  /** The unbroken rotations since, oldest first. */
  readonly rotations: readonly TokenRotation[];
}

/** Finds a token among the current and the former ones; null if the registry does not know it. */
export function fateOf<R extends TokenHistory>(
  records: readonly R[],
  name: string,
  sha256: string,
): TokenFate<R> | null {
  for (const current of records) {
    if (current.name !== name) continue;
    const former = current.former ?? [];
    const at = [...former, current].findIndex((one) => one.sha256 === sha256);
    if (at === -1) continue;
    const since = former.slice(at);
    return {
      current,
      revoked: since.find(({ ended }) => ended === 'revoked')?.at ?? current.revoked,
      rotations: rotationsOf(since, current),
    };
  }
  return null;
}

function rotationsOf(former: readonly FormerToken[], { sha256 }: TokenHistory): TokenRotation[] {
  const broken = former.findIndex(({ ended }) => ended !== 'rotated');
  const rotated = broken === -1 ? former : former.slice(0, broken);
  return rotated.map(({ sha256: from, at }, index) => ({
    from,
    to: former[index + 1]?.sha256 ?? sha256,
    at,
  }));
}

/** The digest of the token that had a name at a time; null if none had. */
export function holderAt(records: readonly TokenHistory[], name: string, time: string): string | null {
  const all = records.filter((one) => one.name === name).flatMap((one) => [...(one.former ?? []), one]);
  return all.findLast(({ created }) => Date.parse(created) <= Date.parse(time))?.sha256 ?? null;
}

/** The history of the next token of a name. @param end of the present one */
export function historyAfter(
  { former = [], sha256, created }: Pick<TokenRecord, 'former' | 'sha256' | 'created'>,
  end: Pick<FormerToken, 'ended' | 'at'>,
): FormerToken[] {
  return [...former, { sha256, created, ...end }];
}

/** How a token ended that is no longer in force. */
export function endOf({ revoked, expires, created }: TokenRecord): Pick<FormerToken, 'ended' | 'at'> {
  return revoked === null ? { ended: 'expired', at: expires ?? created } : { ended: 'revoked', at: revoked };
}
