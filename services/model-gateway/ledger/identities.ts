import type { Identity, Tokens } from '#kit/tokens.ts';
import type { Account } from './account.ts';
import type { RunKeys } from './run-keys.ts';

/** What the key of a run identifies: its account comes with it. */
interface RunIdentity extends Identity {
  readonly account: Account;
}

/** Tokens of the installation, and keys of runs. A key may ask models, and see them. */
export function withRunKeys(tokens: Tokens, keys: RunKeys): Tokens {
  return {
    authenticate(text) {
      const account = keys.find(text);
      if (account === null) return tokens.authenticate(text);
      const identity: RunIdentity = { name: account.key, scopes: ['read', 'model'], account };
      return identity;
    },
    list: () => tokens.list(),
  };
}

/** Who pays for what an identity asks. */
export function accountOf(identity: Identity): Account {
  const { account } = identity as Partial<RunIdentity>;
  return account ?? { key: `token:${identity.name}`, run: null, models: null, budget: null };
}

/** The run that an identity is good for; null for tokens of the installation. */
export function runOf(identity: Identity): string | null {
  return accountOf(identity).run;
}
