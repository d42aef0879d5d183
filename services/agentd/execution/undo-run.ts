import { randomUUID } from 'node:crypto';
import { crashPoint } from '#kit/crash-point.ts';
import { Conflict, messageOf } from '#kit/errors.ts';
import type { Step, Undoing, UndoResult } from '../actions/executor.ts';
import type { ActionDefinition, Executors } from '../actions/registry.ts';
import type { Person, UndoStep, Watch } from '../agent.ts';
import type { NewEvent } from '../runs/event.ts';
import { type ActionState, mayHaveEffects, type Run } from '../runs/run.ts';
import { executorLease, type RunStore } from '../runs/run-store.ts';
import { findAction } from './decisions.ts';
import { Effects, endsExecution } from './effects.ts';
import type { ExecutionParts } from './execute-approved.ts';
import { recordName } from './renamed-repository.ts';

type UndoParts = Pick<ExecutionParts, 'store' | 'executors' | 'lookAtName'>;

/** What undoing would do, in its order. @throws Refused when it would destroy what others did */
export async function previewUndo({ store, executors: open }: UndoParts, runId: string): Promise<UndoStep[]> {
  const run = await store.read(runId);
  checkUndoable(run);
  const executors = await open(run, new Effects(noLease, run.updated_at));
  const steps: UndoStep[] = [];
  for (const state of mayHaveEffects(run)) {
    const { action_id, kind } = state.definition;
    const { effect, message } = await executors[kind].undoing(stepOf(run, state, idle));
    steps.push({ action_id, kind, effect, message });
  }
  return steps;
}

/** Walks the log backwards: what was published last is taken back first. Can be called again after a crash. */
export async function undoRun(
  parts: UndoParts,
  { run_id, by }: { readonly run_id: string; readonly by: Person },
  watch: Watch,
): Promise<Run> {
  const { store } = parts;
  const lease = await store.lease(executorLease(run_id));
  try {
    await previewUndo(parts, run_id);
    const undo_id = randomUUID();
    const before = await store.read(run_id);
    const effects = new Effects(lease, before.updated_at);
    if (mayHaveEffects(before).some(({ definition }) => definition.gate === 'publish'))
      await recordName(store, parts.lookAtName, before, watch.signal);
    const run = await store.append(run_id, (now) => {
      checkUndoable(now);
      return [{ type: 'undo_started', data: { undo_id, by: by.name, pid: process.pid } }];
    });
    crashPoint('undo.started');
    const executors = await parts.executors(run, effects);
    const results: UndoResult[] = [];
    for (const { definition } of mayHaveEffects(run)) {
      if (watch.signal.aborted || lease.lost.aborted) break;
      results.push(await takeBack(store, run, definition.action_id, executors, watch));
    }
    // What ended for want of the lease is not finished: the run stays interrupted, for whoever undoes it.
    lease.lost.throwIfAborted();
    const after = await store.append(run_id, (now) => [finished(now, undo_id, results)]);
    await store.writeViews(run_id);
    return after;
  } finally {
    await lease.release();
  }
}

async function takeBack(
  store: RunStore,
  { run_id, undo }: Run,
  action_id: string,
  executors: Executors,
  watch: Watch,
): Promise<UndoResult> {
  const { undo_id } = undo!;
  /** Only while this undo is the run's newest: a process that lost the lease without noticing writes nothing more. */
  const append = (event: NewEvent) =>
    store.append(run_id, (now) => {
      if (now.undo?.undo_id === undo_id && !now.undo.finished) return [event];
      throw new Conflict('undo_superseded', `another undo of run ${run_id} has begun; this one ends`);
    });
  const run = await append({ type: 'undo_intent', data: { undo_id, action_id, facts: {} } });
  const state = findAction(run, action_id);
  const { kind } = state.definition;
  const clock = performance.now();
  watch.progress({ step: kind, state: 'started', message: `undo ${state.definition.title}`, action_id });
  crashPoint(`undo.intent.${kind}`);
  const result = await resultOf(executors[kind].undoing(stepOf(run, state, watch)));
  crashPoint(`undo.effect.${kind}`);
  await append({ type: 'undo_result', data: { undo_id, action_id, ...result } });
  crashPoint(`undo.result.${kind}`);
  watch.progress({
    step: kind,
    state: shownAs[result.state],
    message: result.message,
    action_id,
    duration_ms: performance.now() - clock,
  });
  return result;
}

async function resultOf(asked: Promise<Undoing>): Promise<UndoResult> {
  try {
    const undoing = await asked;
    if (undoing.effect === 'undo') return await undoing.act();
    return { state: undoing.effect === 'keep' ? 'kept' : 'undone', message: undoing.message };
  } catch (error) {
    if (endsExecution(error)) throw error;
    return { state: 'failed', message: messageOf(error) };
  }
}

/** A preview takes nothing back. */
const noLease = {
  lost: new AbortController().signal,
  shared: false,
  permit: () => Promise.reject(new Conflict('lease_lost', 'a preview holds no lease')),
};

const shownAs = { undone: 'succeeded', kept: 'info', failed: 'failed' } as const;

const idle: Watch = { progress: () => {}, signal: new AbortController().signal };

function stepOf(run: Run, state: ActionState, watch: Watch): Step<ActionDefinition> {
  return {
    run,
    action: state.definition,
    state,
    repo_dir: run.execution?.repo_dir ?? null,
    dry_run: false,
    signal: watch.signal,
    progress: (message) =>
      watch.progress({
        step: state.definition.kind,
        state: 'output',
        message,
        action_id: state.definition.action_id,
      }),
  };
}

function checkUndoable(run: Run): void {
  if (run.status === 'undone')
    throw new Conflict('run_undone', `run ${run.run_id} was undone already`, {
      hint: `What was taken back:\n./core show ${run.run_id}`,
    });
  if (run.undo !== null && !run.undo.finished) return;
  if (run.plan === null || run.execution === null || mayHaveEffects(run).length === 0) {
    throw new Conflict(
      'nothing_to_undo',
      `run ${run.run_id} is ${run.status}: it changed nothing, so there is nothing to undo`,
    );
  }
}

function finished(run: Run, undo_id: string, results: readonly UndoResult[]): NewEvent {
  const failed = results.filter(({ state }) => state === 'failed').length;
  const kept = results.filter(({ state }) => state === 'kept');
  const left = mayHaveEffects(run).filter(
    ({ definition }) =>
      !run.undo?.results.some(
        ({ action_id, state }) => action_id === definition.action_id && state !== 'failed',
      ),
  );
  const complete = failed === 0 && left.length === 0;
  const rest = kept.length === 0 ? '' : `; ${kept.map(({ message }) => message).join('; ')}`;
  const message = complete
    ? `everything ${kept.length === 0 ? 'of ours' : 'else of ours'} was taken back${rest}`
    : `${failed + left.length} not taken back; run undo again${rest}`;
  return { type: 'undo_finished', data: { undo_id, complete, message } };
}
