import type { RunSummary } from '#kit/contracts/run.ts';
import { InvalidInput, NotFound } from '#kit/errors.ts';
import { subjectOf } from '#kit/repository-name.ts';
import type { RepositoryRef } from '../ports/forge.ts';
import { allRuns, type RepositoryHere, type RunStore } from './run-store.ts';

/**
 * The run that a word other than an identifier names: `last`, the newest of the repository around, else of all; `12`, `#12` or
 * `owner/repo#12`, that of an issue. Identifiers begin with their time, whose first digit is 0 until the year 2527, so no issue number is one.
 * @returns null where the word is none of these
 * @throws NotFound (`run_not_found`), InvalidInput (`run_ambiguous`) with the choices
 */
export async function runByWord(
  store: Pick<RunStore, 'list'>,
  text: string,
  here: RepositoryHere = async () => null,
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
  const found = await allRuns(store, { ...of, number });
  const near = new Set(found.map(repositoryOf)).size > 1 ? await here() : null;
  const kept = near === null ? found : found.filter((run) => isOf(run, near));
  const runs = kept.length > 0 ? kept : found;
  const waiting = withoutLeftPlannings(runs.filter(({ status }) => open.includes(status)));
  const candidates = waiting.length > 0 ? waiting : runs;
  const [newest] = candidates;
  if (newest === undefined) {
    throw new NotFound('run_not_found', `no run is of issue ${word}; ./core runs lists them`);
  }
  // Of runs that have ended the newest is what came of the issue last; of repositories and of runs that wait none is.
  const several = new Set(candidates.map(repositoryOf)).size > 1 || waiting.length > 1;
  if (several) throw ambiguous(word, candidates);
  return newest.run_id;
}

/** A planning that was cut off counts only in a repository of which no other run waits with a plan. */
function withoutLeftPlannings(runs: readonly RunSummary[]): readonly RunSummary[] {
  const planned = new Set(runs.filter(({ actions }) => actions > 0).map(repositoryOf));
  return runs.filter(
    (run) => run.status !== 'interrupted' || run.actions > 0 || !planned.has(repositoryOf(run)),
  );
}

const open: readonly RunSummary['status'][] = ['planning', 'awaiting_approval', 'executing', 'interrupted'];

function repositoryOf({ forge, owner, repo }: RunSummary): string {
  return `${forge}/${owner}/${repo}`;
}

function isOf(run: RunSummary, { forge = run.forge, owner, repo }: RepositoryRef & { forge?: string }) {
  return repositoryOf(run) === `${forge}/${owner}/${repo}`;
}

const shownChoices = 5;

function ambiguous(word: string, runs: readonly RunSummary[]): InvalidInput {
  const lines = runs.slice(0, shownChoices).map((run) => `${run.run_id}  ${subjectOf(run)}  ${run.status}`);
  const more = runs.length > shownChoices ? [`and ${runs.length - shownChoices} more`] : [];
  return new InvalidInput(
    'run_ambiguous',
    [`'${word}' means several runs; name one of them:`, ...lines, ...more].join('\n'),
    { hint: 'name it by the beginning of its identifier\n./core cancel RUN ends one that is not wanted' },
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
