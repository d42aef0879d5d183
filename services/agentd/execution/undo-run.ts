import { randomUUID } from 'node:crypto';
import { crashPoint } from '#kit/crash-point.ts';
import { Conflict, messageOf } from '#kit/errors.ts';
import type { Step, UndoResult } from '../actions/executor.ts';
import type { ActionDefinition, Executors } from '../actions/registry.ts';
import type { Person, UndoStep, Watch } from '../agent.ts';
import type { NewEvent } from '../runs/event.ts';
import type { ActionState, Run } from '../runs/run.ts';
import { executorLease, type RunStore } from '../runs/run-store.ts';
import { findAction } from './decisions.ts';

/** Walks the log backwards: what was published last is taken back first. Can be called again after a crash. */
export class UndoRun {
  readonly #store: RunStore;
  readonly #executors: (run: Run) => Promise<Executors>;

  constructor(store: RunStore, executors: (run: Run) => Promise<Executors>) {
    this.#store = store;
    this.#executors = executors;
  }

  /** What undoing would do, in its order. @throws Refused when it would destroy what others did */
  async preview(runId: string): Promise<UndoStep[]> {
    const run = await this.#store.read(runId);
    checkUndoable(run);
    const executors = await this.#executors(run);
    const steps: UndoStep[] = [];
    for (const state of effects(run)) {
      const { effect, message } = await executors[state.definition.kind].previewUndo(
        stepOf(run, state, idle),
      );
      steps.push({ action_id: state.definition.action_id, kind: state.definition.kind, effect, message });
    }
    return steps;
  }

  async undo(options: { readonly run_id: string; readonly by: Person }, watch: Watch): Promise<Run> {
    const { run_id } = options;
    const lease = await this.#store.lease(executorLease(run_id));
    try {
      await this.preview(run_id);
      const undo_id = randomUUID();
      const run = await this.#store.append(run_id, (now) => {
        checkUndoable(now);
        return [{ type: 'undo_started', data: { undo_id, by: options.by.name, pid: process.pid } }];
      });
      crashPoint('undo.started');
      const executors = await this.#executors(run);
      const results: UndoResult[] = [];
      for (const state of effects(run)) {
        if (watch.signal.aborted || lease.lost.aborted) break;
        results.push(await this.#takeBack(run_id, undo_id, state.definition.action_id, executors, watch));
      }
      const after = await this.#store.append(run_id, (now) => [finished(now, undo_id, results)]);
      await this.#store.writeViews(run_id);
      return after;
    } finally {
      lease.release();
    }
  }

  async #takeBack(
    runId: string,
    undo_id: string,
    action_id: string,
    executors: Executors,
    watch: Watch,
  ): Promise<UndoResult> {
    const run = await this.#append(runId, undo_id, [
      { type: 'undo_intent', data: { undo_id, action_id, facts: {} } },
    ]);
    const state = findAction(run, action_id);
    const { kind } = state.definition;
    const clock = performance.now();
    watch.progress({ step: kind, state: 'started', message: `undo ${state.definition.title}`, action_id });
    crashPoint(`undo.intent.${kind}`);
    const result = await this.#try(executors, run, state, watch);
    crashPoint(`undo.effect.${kind}`);
    await this.#append(runId, undo_id, [{ type: 'undo_result', data: { undo_id, action_id, ...result } }]);
    crashPoint(`undo.result.${kind}`);
    const shown = result.state === 'undone' ? 'succeeded' : result.state === 'kept' ? 'info' : 'failed';
    watch.progress({
      step: kind,
      state: shown,
      message: result.message,
      action_id,
      duration_ms: performance.now() - clock,
    });
    return result;
  }

  /** Only while this undo is the run's newest: a process that lost the lease without noticing writes nothing more. */
  #append(runId: string, undoId: string, events: readonly NewEvent[]): Promise<Run> {
    return this.#store.append(runId, (run) => {
      if (run.undo?.undo_id === undoId && !run.undo.finished) return events;
      throw new Conflict('undo_superseded', `another undo of run ${runId} has begun; this one ends`);
    });
  }

  async #try(executors: Executors, run: Run, state: ActionState, watch: Watch): Promise<UndoResult> {
    try {
      return await executors[state.definition.kind].undo(stepOf(run, state, watch));
    } catch (error) {
      return { state: 'failed', message: messageOf(error) };
    }
  }
}

const idle: Watch = { progress: () => {}, signal: new AbortController().signal };

/** Actions that may have left something behind, the last first: also those whose outcome is not known. */
function effects(run: Run): ActionState[] {
  return run.actions
    .filter(({ state, intent }) => intent !== null && state !== 'undone' && state !== 'pending')
    .toReversed();
}

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
  if (run.status === 'undone') throw new Conflict('run_undone', `run ${run.run_id} was undone already`);
  if (run.undo !== null && !run.undo.finished) return;
  if (run.plan === null || run.execution === null || effects(run).length === 0) {
    throw new Conflict(
      'nothing_to_undo',
      `run ${run.run_id} is ${run.status}: it changed nothing, so there is nothing to undo`,
    );
  }
}

function finished(run: Run, undo_id: string, results: readonly UndoResult[]): NewEvent {
  const failed = results.filter(({ state }) => state === 'failed').length;
  const kept = results.filter(({ state }) => state === 'kept');
  const left = effects(run).filter(
    ({ definition }) =>
      !run.undo?.results.some(
        ({ action_id, state }) => action_id === definition.action_id && state !== 'failed',
      ),
  );
  const complete = failed === 0 && left.length === 0;
  const rest =
    kept.length === 0 ? '' : `; could not be taken back: ${kept.map(({ message }) => message).join('; ')}`;
  const message = complete
    ? `everything of ours was taken back${rest}`
    : `${failed + left.length} not taken back; run undo again${rest}`;
  return { type: 'undo_finished', data: { undo_id, complete, message } };
}
