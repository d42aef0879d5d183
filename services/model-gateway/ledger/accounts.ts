import type { Identity, Tokens } from '#kit/tokens/tokens.ts';
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

/** What a budget is counted against. */
export function purseOf({ key, run }: Pick<Account, 'key' | 'run'>): string {
  return run === null ? key : `run:${run}`;
}

/** What the key of a run identifies: its account comes with it. */
interface RunIdentity extends Identity {
  readonly account: Account;
}

/**
 * Tokens of the installation, and keys of runs. A key may ask models, and see them.
 * @param find gives the account of a key; null for what is none
 */
export function withRunKeys(tokens: Tokens, find: (text: string) => Account | null): Tokens {
  return {
    authenticate(text) {
      const account = find(text);
      if (account === null) return tokens.authenticate(text);
      const identity: RunIdentity = { name: account.key, scopes: ['read', 'model'], account };
      return identity;
    },
    list: () => tokens.list(),
  };
}

export function accountOf(identity: Identity): Account {
  const { account } = identity as Partial<RunIdentity>;
  return account ?? { key: `token:${identity.name}`, run: null, models: null, budget: null };
}
