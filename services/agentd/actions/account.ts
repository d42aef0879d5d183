import { Conflict } from '#kit/errors.ts';
import type { ActionIntent, Target } from '../action.ts';
import type { Account, Author, Forge } from '../ports/forge.ts';
import type { Reconciliation } from './executor.ts';

type Asked = Pick<Forge, 'name' | 'self'>;

/** Forges number their accounts, and people change their names; where a forge has no numbers, the name counts. */
export function isBy(author: Author, account: Account): boolean {
  return author.id === undefined ? author.login === account.login : author.id === account.id;
}

/** Who the intent says would act; for records from before intents said it, who would act now. */
export async function accountOf(forge: Asked, intent: ActionIntent | null): Promise<Account> {
  return intent?.account ?? forge.self();
}

/**
 * The token still belongs to the account of the intent.
 * @throws Conflict `account_changed`
 */
export async function requireAccount(forge: Asked, intent: ActionIntent | null): Promise<void> {
  if (intent?.account != null) await requireSame(forge, intent.account, 'begun');
}

/**
 * The token belongs to the account that was approved, where the plan says one.
 * @throws Conflict `account_changed`
 */
export async function requireApprovedAccount(forge: Asked, { account }: Target): Promise<void> {
  if (account != null) await requireSame(forge, account, 'approved');
}

async function requireSame(forge: Asked, before: Account, was: 'begun' | 'approved'): Promise<void> {
  const now = await forge.self();
  if (now.id === before.id) return;
  throw new Conflict(
    'account_changed',
    `this was ${was} on forge '${forge.name}' as ${shown(before)}, and its token now belongs to ${shown(now)}`,
    {
      facts: { forge: forge.name, before, now },
      hint: `put a token of ${before.login} back into the token file of forge '${forge.name}', then try again`,
    },
  );
}

/** Once more, by the same account alone. */
export async function againAs(forge: Asked, intent: ActionIntent): Promise<Reconciliation> {
  try {
    await requireAccount(forge, intent);
    return { kind: 'again' };
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    return { kind: 'ask', message: `${error.message}; nothing was sent again. ${error.hint}` };
  }
}

function shown({ login, id }: Account): string {
  return login === id ? login : `${login} (id ${id})`;
}
