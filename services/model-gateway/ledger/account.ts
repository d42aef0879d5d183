import type { Money } from './money.ts';

/** Who pays for a call. */
export interface Account {
  /** `token:NAME` for a token of the installation, `key:ID` for the key of a run. */
  readonly key: string;
  readonly run: string | null;
  /** Names of models that it may ask; null: all of them. */
  readonly models: readonly string[] | null;
  /** What it may spend in all, a run with all its keys together; null: no limit of its own. */
  readonly budget: Money | null;
}

/** What a budget is counted against. */
export function purseOf({ key, run }: Pick<Account, 'key' | 'run'>): string {
  return run === null ? key : `run:${run}`;
}
