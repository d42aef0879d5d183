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

/** Whose the keys of runs are. */
export interface AccountsOfKeys {
  /** As far as is known here; null when it is none, expired or revoked. */
  find(key: string): Account | null;
  /** Asks for what `find` does not know yet; null where it knows. Rejects with Unavailable. */
  lookUp(key: string): Promise<void> | null;
}

/** Tokens of the installation, and keys of runs. A key may ask models, and see them. */
export function withRunKeys(tokens: Tokens, keys: AccountsOfKeys): Tokens {
  return {
    lookUp: (text) => keys.lookUp(text) ?? tokens.lookUp?.(text) ?? null,
    authenticate(text) {
      const account = keys.find(text);
      if (account === null) return tokens.authenticate(text);
      const identity: RunIdentity = { name: account.key, scopes: ['read', 'model'], account };
      return identity;
    },
    list: () => tokens.list(),
    now: () => tokens.now(),
  };
}

export function accountOf(identity: Identity): Account {
  const { account } = identity as Partial<RunIdentity>;
  return account ?? { key: `token:${identity.name}`, run: null, models: null, budget: null };
}
