import type { EntityKind } from '#kit/contracts/context/vocabulary.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import { type ActionHistory, actionKinds } from '../action.ts';
import type { Watch } from '../agent.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { type Context, contextRepository, entityId } from './context.ts';
import { isTrustedAssociation } from './influences.ts';
import type { ContextPassage, JudgedPassage } from './passage.ts';
import type { Sources } from './read-sources.ts';

export interface GatheredContext {
  readonly passages: readonly JudgedPassage[];
  /** Why there is less than there could be. */
  readonly notices: readonly string[];
  /** false: nobody answered, and asking again would cost time. */
  readonly answered: boolean;
}

export interface GatheringPorts {
  readonly store: RunStore;
  /** null where none is configured. */
  readonly context: Context | null;
  /** Tells the context service what it does not know yet of earlier runs. @returns why some of it waits; null when none does */
  readonly deliverEarlier: (signal: AbortSignal) => Promise<string | null>;
}

const maxQueryLength = 4_000;
const codeKinds = ['file', 'symbol', 'section', 'document', 'procedure'] as const;
const historyKinds = ['run', 'issue'] as const;
const maxOf = { code: 8, history: 3, memories: 3 };
const layers = ['semantic', 'episodic', 'procedural'] as const;

/** What is known for this issue, this repository and this role. Without the service planning goes on and says so. */
export async function gatherContext(
  { context, store, deliverEarlier }: GatheringPorts,
  tally: MaskTally,
  run: Run,
  sources: Sources,
  watch: Watch,
): Promise<GatheredContext> {
  if (context === null) return { passages: [], notices: [], answered: false };
  const repository = contextRepository(run.request);
  const stale = await refreshed(context, repository, sources, watch);
  if (stale?.gone === true)
    return { passages: [], notices: [`context: ${stale.why}; planned without it`], answered: false };

  const undelivered = await deliverEarlier(watch.signal);
  const { found, problems } = await askAll(context, run, repository, sources, watch.signal);
  const { number } = run.request;
  const issue = number === null ? null : entityId.issue(repository, number);
  const fitting = found
    .filter(({ id }) => id !== issue)
    .filter(({ about }) => isOfRepository(about, entityId.repository(repository)));
  // A file whose one symbol has the same lines was found twice.
  const distinct = onceBy(
    onceBy(fitting, ({ id }) => id),
    ({ source }) => source,
  );
  const passages = await Promise.all(
    distinct.map(async (passage) => ({
      ...(await maskedPassage(passage, sources, tally)),
      trusted: await isTrustedPassage(store, run, passage),
    })),
  );
  const reasons = [...new Set([...(stale === null ? [] : [stale.why]), ...problems])];
  const without = found.length === 0 ? 'planned without it' : 'planned with what else it knew';
  return {
    passages,
    notices: [
      ...reasons.map((reason) => `context: ${reason}; ${without}`),
      ...(undelivered === null ? [] : [`context: ${undelivered}; prior outcomes may be incomplete`]),
    ],
    answered: found.length > 0 || problems.length === 0,
  };
}

/** null when the service has read the base commit. */
async function refreshed(
  context: Context,
  name: string,
  { mirror, base_commit }: Sources,
  watch: Watch,
): Promise<{ readonly why: string; readonly gone: boolean } | null> {
  watch.progress({ step: 'context', state: 'info', message: `asking ${context.name} about ${name}` });
  try {
    await context.refresh({ name, path: mirror.dir, commit: base_commit }, watch.signal);
    return null;
  } catch (error) {
    watch.signal.throwIfAborted();
    const gone = error instanceof Error && codeOf(error.cause) === 'http_unavailable';
    return { why: messageOf(error), gone };
  }
}

async function askAll(
  context: Context,
  run: Run,
  repository: string,
  { issue }: Sources,
  signal: AbortSignal,
): Promise<{ readonly found: ContextPassage[]; readonly problems: string[] }> {
  // Marks of secrets would be looked for as words.
  const words = `${issue.title}\n${issue.body}`.replaceAll(/\[redacted \w+\]/g, ' ');
  const query = (words.trim() || issue.title).slice(0, maxQueryLength).toWellFormed();
  const { number, role } = run.request;
  const about = [
    ...(number === null ? [] : [entityId.issue(repository, number)]),
    entityId.repository(repository),
    entityId.agent(role),
  ];
  const search = (kinds: readonly EntityKind[], limit: number) =>
    context.search({ query, repository, kinds: [...kinds], limit }, signal);
  const asked = await Promise.allSettled([
    search(codeKinds, maxOf.code),
    search(historyKinds, maxOf.history),
    ...layers.map((layer) => context.lookup({ query, layer, about, limit: maxOf.memories }, signal)),
    // Memories of people need not name an entity. Memories of other repositories are left out below.
    ...(['semantic', 'procedural'] as const).map((layer) =>
      context.lookup({ query, layer, about: [], limit: maxOf.memories }, signal),
    ),
  ]);
  signal.throwIfAborted();
  const problems = asked.flatMap((answer) =>
    answer.status === 'rejected' ? [messageOf(answer.reason)] : [],
  );
  return {
    found: asked.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : [])),
    problems: [...new Set(problems)],
  };
}

/** The service masks what it reads; which secrets those were is found in the file at the base commit. */
async function maskedPassage(
  passage: ContextPassage,
  { base }: Sources,
  tally: MaskTally,
): Promise<ContextPassage> {
  if (passage.path !== null && passage.text.includes('[redacted ')) {
    const content = await base.read(passage.path);
    if (content !== null) tally.mask(Buffer.from(content).toString('utf8'), `file ${passage.path}`);
  }
  return { ...passage, ...tally.maskDeep(shownOf(passage), `context ${passage.source}`) };
}

function shownOf({ source, title, text, why }: ContextPassage) {
  return { source, title, text, why };
}

/** The first of those with the same key. */
function onceBy<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  return [...new Map(items.toReversed().map((item) => [keyOf(item), item])).values()].reverse();
}

function isOfRepository(about: readonly string[], repository: string): boolean {
  const repositories = about.filter((entity) => entity.startsWith('repo:'));
  return repositories.length === 0 || repositories.includes(repository);
}

/** One after the other: an agent may have read thousands. */
export async function judgedPassages(
  store: RunStore,
  run: Pick<Run, 'request'>,
  passages: readonly ContextPassage[],
): Promise<JudgedPassage[]> {
  const judged: JudgedPassage[] = [];
  for (const passage of passages)
    judged.push({ ...passage, trusted: await isTrustedPassage(store, run, passage) });
  return judged;
}

/**
 * A passage about a run or an issue is as trusted as the author of the issue; files at the base commit and memories of people who may
 * approve are trusted, those that others stored are not, whatever they say that they are about. Nor is what else the graph names:
 * the title of a procedure is that of a memory, whoever stored it.
 */
async function isTrustedPassage(
  store: RunStore,
  run: Pick<Run, 'request'>,
  passage: ContextPassage,
): Promise<boolean> {
  if (passage.unvouched) return false;
  if (passage.run_id !== null) return isTrustedRun(await store.read(passage.run_id).catch(() => null));
  if (passage.kind !== 'issue') {
    return passage.layer !== 'graph' || passage.path !== null || namedByCore.includes(passage.kind);
  }
  const number = Number(/#(\d+)$/.exec(passage.id)?.[1]);
  if (!Number.isInteger(number)) return false;
  const { forge, owner, repo } = run.request;
  const [known] = (await store.list({ limit: 1, forge, owner, repo, number })).runs;
  return known === undefined ? false : isTrustedRun(await store.read(known.run_id).catch(() => null));
}

function isTrustedRun(run: Run | null): boolean {
  return run?.issue != null && isTrustedAssociation(run.issue.association);
}

/** Kinds of things without a path whose titles nobody else chose. */
const namedByCore = ['repository', 'directory', 'agent'];

export interface KnownHistory {
  /** By kind of action; kinds that nobody tried before are missing. */
  readonly byKind: ReadonlyMap<string, ActionHistory>;
  readonly notices: readonly string[];
}

export const noHistory: KnownHistory = { byKind: new Map(), notices: [] };

/** How actions like those of this change went before. */
export async function actionHistory(
  context: Context | null,
  question: { readonly repository: string; readonly role: string; readonly files: readonly string[] },
  signal: AbortSignal,
): Promise<KnownHistory> {
  if (context === null) return noHistory;
  const { repository, role, files } = question;
  try {
    const actions = actionKinds.map((kind) => ({ kind, files: [...files] }));
    const scores = await context.scorePaths({ repository, role, actions }, signal);
    const known = scores.filter(({ cases }) => cases.length > 0);
    return {
      byKind: new Map(
        known.map(({ kind, score, expected, counts, cases }) => [
          kind,
          { score, expected, counts, cases: cases.map(withShortReason) },
        ]),
      ),
      notices: [],
    };
  } catch (error) {
    signal.throwIfAborted();
    return { byKind: new Map(), notices: [`context: ${messageOf(error)}; scored without prior outcomes`] };
  }
}

/** Events hold small facts; the whole reason is in the run that it belongs to. */
function withShortReason<C extends { readonly reason: string | null }>(one: C): C {
  const { reason } = one;
  if (reason === null || reason.length <= 300) return one;
  return { ...one, reason: `${reason.slice(0, 299).toWellFormed()}…` };
}
