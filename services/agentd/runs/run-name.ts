import type { RunSummary } from '#kit/contracts/run.ts';
import { CoreError, InvalidInput, NotFound } from '#kit/errors.ts';
import { subjectOf } from '#kit/repository-name.ts';
import type { RepositoryRef } from '../ports/forge.ts';
import { type ActionState, canBePlanned, type JudgedRun, mayHaveEffects, type Run } from './run.ts';
import { allRuns, type RunChoice, type RunNeed, type RunStore } from './run-store.ts';
import { isLapsed, waitsNow } from './what-is-open.ts';

/**
 * Run that a word other than an identifier names. `last` is the newest run of the current repository, or of all repositories if it has no
 * run. `12`, `#12` or `owner/repo#12` is the run of an issue. Identifiers begin with their time, whose first digit is 0 until the year
 * 2527, so an issue number is never an identifier.
 * @returns null for any other word
 * @throws NotFound (`run_not_found`), InvalidInput (`run_ambiguous`) with the choices
 */
export async function runByWord(
  store: Pick<RunStore, 'list' | 'read'>,
  text: string,
  { here = async () => null, need = 'show', judge = asRecorded, others, forge }: RunChoice = {},
): Promise<string | null> {
  const word = text.trim();
  if (word === 'last') {
    const near = await here();
    for (const of of near === null ? [{}] : [near, {}]) {
      const [newest] = (await store.list({ ...of, limit: 1 })).runs;
      if (newest !== undefined) return newest.run_id;
    }
    throw new NotFound('run_not_found', 'there is no run yet; ./core plan-issue makes one');
  }
  const named = /^(?:([^/\s]+)\/([^/\s#]+)#|#?)([1-9][0-9]{0,9})$/.exec(word);
  if (named === null) return null;
  const [, owner, repo, digits] = named;
  const number = Number(digits);
  const of = owner === undefined || repo === undefined ? {} : { owner, repo };
  const found = await allRuns(store, { ...of, ...(forge === undefined ? {} : { forge }), number });
  const near = new Set(found.map(repositoryOf)).size > 1 ? await here() : null;
  const kept = near === null ? found : found.filter((run) => isOf(run, near));
  const runs = kept.length > 0 ? kept : found;
  // The use of a run does not tell which repository the caller means.
  const repositories = [...Map.groupBy(runs, repositoryOf).values()];
  if (repositories.length > 1) throw ambiguous(word, repositories.flatMap(preferred), repositories.length);
  const able = runs.length > 1 && need !== 'show' ? await ableTo(store, runs, need, judge) : [];
  const candidates = able.length > 0 ? preferred(able) : preferred(runs);
  const [newest] = candidates;
  if (newest === undefined) {
    throw new NotFound('run_not_found', `no run is of issue ${word}; ./core runs lists them`);
  }
  // The newest run that ended is the last result of the issue; several runs that wait are equal choices.
  if (candidates.filter(isOpen).length > 1) throw ambiguous(word, candidates);
  const rest = runs.filter(({ run_id }) => run_id !== newest.run_id);
  if (rest.length > 0) others?.(rest);
  return newest.run_id;
}

/**
 * The first of these kinds of which there are some: runs at work or waiting with a plan, runs that ended with a plan, plannings that
 * were cut off, and plannings that failed, which left nothing behind.
 */
function preferred(runs: readonly RunSummary[]): readonly RunSummary[] {
  const best = Math.min(...runs.map(rankOf));
  return runs.filter((run) => rankOf(run) === best);
}

function rankOf(run: RunSummary): number {
  if (isOpen(run) && (run.actions > 0 || run.status === 'planning')) return 0;
  if (run.actions > 0) return 1;
  return isOpen(run) ? 2 : 3;
}

function isOpen({ status }: RunSummary): boolean {
  return open.includes(status);
}

const open: readonly RunSummary['status'][] = ['planning', 'awaiting_approval', 'executing', 'interrupted'];

/** The runs that something can be done with. A run whose record cannot be read is not one of them. */
async function ableTo(
  store: Pick<RunStore, 'read'>,
  runs: readonly RunSummary[],
  need: Exclude<RunNeed, 'show'>,
  judge: NonNullable<RunChoice['judge']>,
): Promise<readonly RunSummary[]> {
  const able: RunSummary[] = [];
  for (const run of runs) {
    const read = await store.read(run.run_id).catch((error) => {
      if (error instanceof CoreError) return null;
      throw error;
    });
    if (read !== null && can[need](await judge(read), new Date())) able.push(run);
  }
  return able;
}

const can: Readonly<Record<Exclude<RunNeed, 'show'>, (run: JudgedRun, now: Date) => boolean>> = {
  decide: (run, now) => waitsNow(run, now).waiting > 0,
  execute: (run, now) =>
    isLeft(run) &&
    run.actions.some(
      (action) => action.approval === 'approved' && isUndone(action) && !isLapsed(action, now),
    ),
  resume: (run) => canBePlanned(run) || (run.undo !== null ? !run.undo.complete : wasCutOff(run)),
  undo: (run) => run.undo?.finished === false || mayHaveEffects(run).length > 0,
};

async function asRecorded(run: Run): Promise<JudgedRun> {
  const actions = run.actions.map((action) => ({
    ...action,
    approval_problem: null,
    progress: undefined,
    counted: action.decisions,
  }));
  return { ...run, actions };
}

function isLeft({ plan, undo, status }: Run): boolean {
  return plan !== null && undo === null && status !== 'cancelled' && status !== 'superseded';
}

function isUndone({ state }: ActionState): boolean {
  return state !== 'succeeded' && state !== 'undone';
}

function wasCutOff(run: Run): boolean {
  return run.execution !== null && isLeft(run) && run.status !== 'completed';
}

function repositoryOf({ forge, owner, repo }: RunSummary): string {
  return `${forge}/${owner}/${repo}`;
}

function isOf(run: RunSummary, { forge = run.forge, owner, repo }: RepositoryRef & { forge?: string }) {
  return repositoryOf(run) === `${forge}/${owner}/${repo}`;
}

const shownChoices = 5;

/** @param repositories how many the runs are of */
function ambiguous(word: string, runs: readonly RunSummary[], repositories = 1): InvalidInput {
  const forges = new Set(runs.map(({ forge }) => forge)).size;
  const lines = runs
    .slice(0, shownChoices)
    .map((run) => [run.run_id, subjectOf(run), ...(forges > 1 ? [run.forge] : []), run.status].join('  '));
  const more = runs.length > shownChoices ? [`and ${runs.length - shownChoices} more`] : [];
  const what = repositories > 1 ? `runs of ${repositories} repositories` : 'several runs';
  const hint =
    repositories > 1
      ? 'name it as owner/repo#NUMBER or by the beginning of its identifier, or go to a checkout of its repository'
      : 'name it by the beginning of its identifier\n./core cancel RUN ends one that is not wanted';
  return new InvalidInput(
    'run_ambiguous',
    [`'${word}' means ${what}; name one of them:`, ...lines, ...more].join('\n'),
    { hint },
  );
}

/**
 * The one run that was found to begin so.
 * @throws NotFound (`run_not_found`), InvalidInput (`run_ambiguous`)
 */
export function onlyRun(prefix: string, found: readonly string[]): string {
  const [runId, ...others] = found;
  if (runId === undefined)
    throw new NotFound('run_not_found', `no run starts with ${prefix}; ./core runs lists them`);
  if (others.length === 0) return runId;
  const shown = found.slice(0, 5).join(', ');
  const more = found.length > 5 ? ', …' : '';
  throw new InvalidInput(
    'run_ambiguous',
    `${prefix} is the beginning of several runs: ${shown}${more}; give more of it`,
  );
}
