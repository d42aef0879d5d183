import type { Inbox, InboxItem } from '#kit/contracts/inbox.ts';
import { NotFound } from '#kit/errors.ts';
import type { Scope } from '#kit/tokens/token.ts';
import type { ApprovalsNow } from '../approval/current.ts';
import { personNamed, personOf } from '../approval/people.ts';
import { judgedRun } from '../execution/judged-run.ts';
import type { RunSummary } from '../runs/run.ts';
import { allRuns, type RunStore, readableRun } from '../runs/run-store.ts';
import { inboxItems, neededScope } from './inbox-items.ts';

/** Maximum age of a failure in the inbox, in ms. Decisions have no maximum age. */
const failuresMs = 30 * 86_400_000;

export interface InboxRequest {
  /** Name of a person or of a token; null for the items of all people. */
  readonly person: string | null;
  /** Scopes of the account at the identity provider that `person` names; left out if the scopes of tokens count. */
  readonly scopes?: readonly string[] | undefined;
  readonly now: Date;
}

type Runs = Pick<RunStore, 'list' | 'read'>;

/**
 * Items that wait for people, the longest waiting first. Leaves out failed runs if the issue was planned again since.
 * @throws NotFound (`person_not_found`)
 */
export async function readInbox(
  runs: Runs,
  current: ApprovalsNow,
  { person, scopes, now }: InboxRequest,
): Promise<Inbox> {
  const reader = person === null ? null : knownReader(current, person, scopes);
  const items: InboxItem[] = [];
  for (const { run_id } of await openRuns(runs, now)) {
    const run = await readableRun(runs, run_id);
    if (run !== null)
      items.push(
        ...inboxItems(
          judgedRun(run, () => current),
          current,
          now,
        ),
      );
  }
  items.sort((one, other) => (one.since < other.since ? -1 : one.since > other.since ? 1 : 0));
  const mine = reader === null ? items : items.filter(reader.waits);
  return { person: reader?.name ?? null, items: mine, others: items.length - mine.length };
}

/** Those in which something may wait. */
export async function openRuns(runs: Runs, now: Date): Promise<RunSummary[]> {
  const since = new Date(now.getTime() - failuresMs).toISOString();
  const found = await allRuns(runs, { status: 'awaiting_approval' });
  for (const status of ['partially_completed', 'failed', 'interrupted'] as const)
    for (const run of await allRuns(runs, { status, since }))
      if (!(await isPlannedAgain(runs, run))) found.push(run);
  return found;
}

async function isPlannedAgain(
  runs: Runs,
  { run_id, forge, owner, repo, number }: RunSummary,
): Promise<boolean> {
  if (number === null) return false;
  const [newest] = (await runs.list({ limit: 1, forge, owner, repo, number })).runs;
  return newest !== undefined && newest.run_id !== run_id;
}

/** Person who reads the inbox. */
export interface Reader {
  /** Name of the person in policy.json, otherwise the given name. */
  readonly name: string;
  /** False if neither policy.json nor a token names the person. */
  readonly known: boolean;
  /** True if the person can handle the item. */
  readonly waits: (item: Pick<InboxItem, 'kind' | 'people'>) => boolean;
}

export function readerOf(
  { policy: { people }, tokens }: Omit<ApprovalsNow, 'signatures'>,
  given: string,
): Reader {
  const name = personNamed(people, given)?.person ?? given;
  const names = [name, ...(people[name]?.tokens ?? [])];
  const own = tokens.filter((token) => names.includes(token.name));
  const scopes = own.filter(({ revoked }) => revoked === null).flatMap((token) => token.scopes);
  return {
    name,
    known: people[name] !== undefined || own.length > 0,
    waits: waitsFor(name, (scope) => own.length === 0 || scopes.some((one) => one === scope)),
  };
}

function waitsFor(name: string, has: (scope: Scope) => boolean): Reader['waits'] {
  return ({ kind, people }) =>
    (has(neededScope[kind]) || has('admin')) && (people === null || people.includes(name));
}

/** @throws NotFound (`person_not_found`) */
/** @param scopes scopes of the reader, if not only the token decides */
export function knownReader(
  current: Omit<ApprovalsNow, 'signatures'>,
  given: string,
  scopes?: readonly string[],
): Reader {
  if (scopes !== undefined) {
    const name = personOf(current.policy.people, given)?.person ?? given;
    return { name, known: true, waits: waitsFor(name, (scope) => scopes.includes(scope)) };
  }
  const reader = readerOf(current, given);
  if (reader.known) return reader;
  const choices = [
    ...new Set([...Object.keys(current.policy.people), ...current.tokens.map(({ name }) => name)]),
  ];
  throw new NotFound(
    'person_not_found',
    `'${given}' is neither a person of policy.json nor the name of a token: must be one of ${choices.join(', ')}`,
  );
}
