import type { Identity } from '#kit/tokens/tokens.ts';
import type { Money } from './money.ts';

export interface Account {
  /** `token:NAME` for a token of the installation, `key:ID` for the key of a run. */
  readonly key: string;
  readonly run: string | null;
  /** Names of models that it may ask; null: all of them. */
  readonly models: readonly string[] | null;
  /** What it may spend in all, a run with all its keys together; null: no limit of its own, as every token. */
  readonly budget: Money | null;
}

/** What the key of a run identifies: its account comes with it. */
export interface RunIdentity extends Identity {
  readonly account: Account;
}

export function accountOf(identity: Identity): Account {
  const { account } = identity as Partial<RunIdentity>;
  return account ?? { key: `token:${identity.name}`, run: null, models: null, budget: null };
}
