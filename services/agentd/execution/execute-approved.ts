import { randomUUID } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { crashPoint } from '#kit/crash-point.ts';
import { Conflict, Refused } from '#kit/errors.ts';
import type { CheckoutPlace } from '../action.ts';
import { mustBeDelivered, requireDeliverable, waysToName } from '../actions/commit.ts';
import type { Executors } from '../actions/registry.ts';
import type { ExecutionRequest, Watch } from '../agent.ts';
import type { ReadApprovals } from '../approval/current.ts';
import { finishSuperseding } from '../planning/earlier-runs.ts';
import type { NewEvent } from '../runs/event.ts';
import {
  type ActionState,
  approvedCommit,
  isOpen,
  isUnsettled,
  nowFor,
  type Run,
  waitsOf,
} from '../runs/run.ts';
import { branchLease, executorLease, type RunStore } from '../runs/run-store.ts';
import type { LookAtIssue } from './changed-issue.ts';
import { approvalProblem, findAction, requireCompletePlan, requireNotSuperseded } from './decisions.ts';
import { placeOf, writablePlace } from './delivery.ts';
import { Effects } from './effects.ts';
import type { LookAtBase } from './moved-base.ts';
import type { LookAtName } from './renamed-repository.ts';
import { Execution } from './run-actions.ts';

/** What executing and undoing work with. */
export interface ExecutionParts {
  readonly store: RunStore;
  readonly executors: (run: Run, effects: Effects) => Promise<Executors>;
  readonly lookAtBase: LookAtBase;
  readonly lookAtIssue: LookAtIssue;
  readonly lookAtName: LookAtName;
  /** Paths that the configuration of this host names. */
  readonly checkouts: readonly string[];
  readonly approvals: ReadApprovals;
  /** To be awaited before `approvals`, which a process that stood still cannot read at once. Never rejects. */
  readonly approvalsFresh: () => Promise<void>;
}

export interface ExecuteOptions extends ExecutionRequest {
  readonly kind: 'execute' | 'resume';
}

/**
 * Runs what was approved, exactly as it was previewed, one action after the other. The intent of each effect is durable before
 * it, its result after it; what a crash left between the two is found out before anything else happens.
 */
export async function executeApproved(
  parts: ExecutionParts,
  options: ExecuteOptions,
  watch: Watch,
): Promise<Run> {
  const { store } = parts;
  const { run_id } = options;
  const before = await finishSuperseding(store, await store.read(run_id));
  checkExecutable(before);
  await store.requireUnaltered(run_id);
  const selected = selectActions(before, options);
  const lease = await store.lease(executorLease(run_id));
  const leases = [lease];
  try {
    const { target } = before.plan!;
    if (target.branch !== null) {
      leases.push(await store.lease(branchLease({ ...target, branch: target.branch })));
    }
    const place = await requireCheckout(before, selected, options, parts.checkouts);
    const signal = AbortSignal.any([watch.signal, ...leases.map(({ lost }) => lost)]);
    const executors = await parts.executors(
      before,
      new Effects(lease, (await store.read(run_id)).updated_at),
    );
    const execution_id = randomUUID();
    await store.append(run_id, (run) => {
      checkExecutable(run);
      return [started(execution_id, selected, options, place)];
    });
    crashPoint('execute.started');
    const scope = {
      ...options,
      repo_dir: place?.dir ?? (options.repo_dir === undefined ? undefined : null),
      execution_id,
    };
    await new Execution({ ...parts, executors }, scope, { ...watch, signal }).runAll(selected);
    // What ended for want of a lease is not finished: the run stays interrupted, for whoever resumes it.
    for (const { lost } of leases) lost.throwIfAborted();
    crashPoint('execute.before_finish');
    const run = await store.append(run_id, (now) => finished(now, execution_id));
    await store.writeViews(run_id);
    return run;
  } finally {
    for (const held of leases) await held.release();
  }
}

/**
 * Before the first action, so that nobody waits for a validation to learn that a folder was mistyped.
 * @param configured the checkouts of this host
 */
async function requireCheckout(
  run: Run,
  selected: readonly string[],
  { repo_dir, kind }: ExecuteOptions,
  configured: readonly string[],
): Promise<CheckoutPlace | undefined> {
  const { run_id, plan, execution } = run;
  const { branch, push_url } = plan!.target;
  const before = kind === 'resume' ? execution?.checkout : undefined;
  if (branch === null) return undefined;
  const approved = approvedCommit(run);
  const commit = approved !== undefined && selected.includes(approved.action_id) ? approved : undefined;
  if (typeof repo_dir === 'string') {
    // What was delivered on another host needs no checkout on this one.
    if (kind === 'resume' && commit === undefined) return before;
    if (before !== undefined) await requireNamedHere(run_id, before, push_url, configured);
    return writablePlace(repo_dir, push_url);
  }
  if (commit === undefined) return undefined;
  if (repo_dir === undefined && kind === 'execute' && !mustBeDelivered(commit)) throw repoDirRequired();
  requireDeliverable(commit, repo_dir);
  return undefined;
}

/** A path that was named on another host is somebody else's folder here. @throws Refused (`checkout_elsewhere`) */
async function requireNamedHere(
  runId: string,
  { host, dir, repository }: CheckoutPlace,
  pushUrl: string,
  configured: readonly string[],
): Promise<void> {
  if (host === hostname()) return;
  const here = await placeOf(dir, pushUrl).catch(() => null);
  if (here?.repository === repository) return;
  if (configured.some((path) => existsSync(path) && realpathSync(path) === here?.dir)) return;
  throw new Refused(
    'checkout_elsewhere',
    `run ${runId} is to be delivered into ${dir} on ${host}, and no checkout was named on this host`,
    { hint: `Resume it on ${host}, or here with:\n${waysToName(runId)}` },
  );
}

function repoDirRequired(): Refused {
  return new Refused(
    'repo_dir_required',
    'commit delivers the branch into your checkout, and you are in none of this repository; go there, or name it with --repo-dir',
    { hint: 'On a host that has none, --no-repo-dir executes without: the branch reaches the forge alone.' },
  );
}

/**
 * In ordinal order, whatever order they were named in. Without names, whatever was decided: what waits for a decision stays as
 * it is.
 * @throws Refused `approval_required`: an action that was named is not approved; Conflict `nothing_to_execute`
 */
function selectActions(run: Run, { actions: ids, kind }: ExecuteOptions): string[] {
  const now = nowFor(run);
  const named = ids?.map((id) => findAction(run, id)) ?? run.actions;
  const chosen = [...new Set(named)]
    .filter((action) => ids !== null || action.approval !== 'required' || isUnsettled(action))
    .toSorted((a, b) => a.definition.ordinal - b.definition.ordinal);
  const left = chosen.filter(({ state }) => state !== 'succeeded' && state !== 'undone');
  const ready = left.filter((action) => isUnsettled(action) || approvalProblem(action, now) === null);
  const unapproved = left.filter((action) => !ready.includes(action));
  if (kind === 'execute' && ids !== null && unapproved.length > 0) throw notApproved(run, unapproved, now);
  // An execution that was cut off behind its last action still has to end.
  if (ready.length === 0 && run.execution?.finished !== false) throw nothingToExecute(run, now);
  return chosen.map(({ definition }) => definition.action_id);
}

function notApproved(run: Run, actions: readonly ActionState[], now: string): Refused {
  const why = actions.map((action) => `${nameOf(action)}: ${approvalProblem(action, now)!.message}`);
  return new Refused('approval_required', `nothing was executed: ${why.join('; ')}`, {
    facts: { run_id: run.run_id, actions: actions.map(({ definition }) => definition.action_id) },
    hint: 'Approve what is named, or leave it out.',
  });
}

function nothingToExecute(run: Run, now: string): Conflict {
  const { run_id, actions } = run;
  const { waits_for } = waitsOf(run);
  const expired = actions.filter((action) => approvalProblem(action, now)?.code === 'approval_expired');
  const open = expired.filter(({ state }) => state !== 'succeeded' && state !== 'undone');
  const gate = open[0]?.definition.gate ?? waits_for;
  const facts = { run_id, gate };
  if (gate === null) {
    const done = actions.every(({ state }) => state === 'succeeded');
    const why = done ? 'every action has succeeded' : 'nothing of it is left that could be approved';
    return new Conflict('nothing_to_execute', `run ${run_id} is ${run.status}: ${why}`, { facts });
  }
  const waiting = actions.filter((action) => action.definition.gate === gate && isOpen(action));
  const some = waiting.filter((action) => action.approval === 'required' || open.includes(action));
  const before = actions.some(({ state }) => state === 'succeeded')
    ? 'what was approved has run'
    : 'nothing is approved';
  const needs = open.length > 0 ? 'needs another approval: its own has expired' : 'waits for approval';
  return new Conflict(
    'nothing_to_execute',
    `nothing of run ${run_id} was executed: ${before}, and the gate ${gate} ${needs} (${some.map(nameOf).join(', ')})`,
    { facts, hint: `Approve the gate ${gate}, then execute.` },
  );
}

function nameOf({ definition: { ordinal, kind } }: ActionState): string {
  return `${ordinal} ${kind}`;
}

function checkExecutable(run: Run): void {
  if (run.plan === null) {
    const why = run.failure === null ? '' : ` Its planning was refused: ${run.failure.message}`;
    throw new Conflict(
      'run_not_planned',
      `run ${run.run_id} is ${run.status}: it has no actions to execute.${why}`,
      run.failure === null ? {} : { hint: 'Plan the issue again when that is mended.' },
    );
  }
  if (run.undo !== null)
    throw new Conflict(
      'run_undone',
      `run ${run.run_id} was undone, or its undo has begun; plan the issue again`,
    );
  if (run.status === 'cancelled')
    throw new Conflict('run_cancelled', `run ${run.run_id} was cancelled; plan the issue again`);
  requireNotSuperseded(run);
  requireCompletePlan(run);
}

function started(
  execution_id: string,
  selected: string[],
  options: ExecuteOptions,
  checkout: CheckoutPlace | undefined,
): NewEvent {
  const { kind, repo_dir, dry_run, by } = options;
  return {
    type: 'execution_started',
    data: {
      execution_id,
      kind,
      repo_dir: repo_dir ?? null,
      checkout,
      checkout_named: repo_dir === undefined ? false : undefined,
      selected,
      dry_run,
      by: by.name,
      pid: process.pid,
    },
  };
}

function finished(run: Run, execution_id: string): NewEvent[] {
  if (run.execution?.execution_id !== execution_id) return [];
  const succeeded = run.actions.filter(({ state }) => state === 'succeeded').length;
  const message = `${succeeded} of ${run.actions.length} actions succeeded`;
  const stopped = run.cancelling ? 'cancelled' : null;
  const events: NewEvent[] = [{ type: 'execution_finished', data: { execution_id, stopped, message } }];
  if (run.cancelling) events.push({ type: 'run_cancelled', data: { message } });
  return events;
}
