import { randomUUID } from 'node:crypto';
import { crashPoint } from '#kit/crash-point.ts';
import { Conflict } from '#kit/errors.ts';
import { repoDirRequired } from '../actions/commit.ts';
import type { Executors } from '../actions/registry.ts';
import type { ExecutionRequest, Watch } from '../agent.ts';
import { finishSuperseding } from '../planning/earlier-runs.ts';
import type { NewEvent } from '../runs/event.ts';
import type { Run } from '../runs/run.ts';
import { branchLease, executorLease, type RunStore } from '../runs/run-store.ts';
import { findAction, requireCompletePlan, requireNotSuperseded } from './decisions.ts';
import { checkCheckout } from './delivery.ts';
import type { LookAtBase } from './moved-base.ts';
import { Execution } from './run-actions.ts';

/** What executing and undoing work with. */
export interface ExecutionParts {
  readonly store: RunStore;
  readonly executors: (run: Run) => Promise<Executors>;
  readonly lookAtBase: LookAtBase;
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
  const selected = selectActions(before, options.actions);
  const leases = [await store.lease(executorLease(run_id))];
  try {
    const { target } = before.plan!;
    if (target.branch !== null) {
      leases.push(await store.lease(branchLease({ ...target, branch: target.branch })));
    }
    await requireCheckout(before, selected, options.repo_dir);
    const signal = AbortSignal.any([watch.signal, ...leases.map(({ lost }) => lost)]);
    const executors = await parts.executors(before);
    const execution_id = randomUUID();
    await store.append(run_id, (run) => {
      checkExecutable(run);
      return [started(execution_id, selected, options)];
    });
    crashPoint('execute.started');
    const scope = { ...options, execution_id };
    await new Execution({ ...parts, executors }, scope, { ...watch, signal }).runAll(selected);
    crashPoint('execute.before_finish');
    const run = await store.append(run_id, (now) => finished(now, execution_id));
    await store.writeViews(run_id);
    return run;
  } finally {
    for (const held of leases) held.release();
  }
}

/** Before the first action, so that nobody waits for a validation to learn that a folder was mistyped. */
async function requireCheckout(run: Run, selected: readonly string[], repoDir: string | null): Promise<void> {
  const { target } = run.plan!;
  if (target.branch === null) return;
  if (repoDir !== null) return checkCheckout(repoDir, target.push_url);
  const delivers = run.actions.some(
    ({ definition, approval, state }) =>
      definition.kind === 'commit' &&
      approval === 'approved' &&
      state !== 'succeeded' &&
      selected.includes(definition.action_id),
  );
  if (delivers) throw repoDirRequired();
}

/** Ordinal order, whatever order they were named in. */
function selectActions(run: Run, ids: readonly string[] | null): string[] {
  const chosen = ids === null ? run.actions : ids.map((id) => findAction(run, id));
  return [...new Set(chosen)]
    .toSorted((a, b) => a.definition.ordinal - b.definition.ordinal)
    .map(({ definition }) => definition.action_id);
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

function started(execution_id: string, selected: string[], options: ExecuteOptions): NewEvent {
  const { kind, repo_dir, dry_run, by } = options;
  return {
    type: 'execution_started',
    data: { execution_id, kind, repo_dir, selected, dry_run, by: by.name, pid: process.pid },
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
