import { randomUUID } from 'node:crypto';
import { crashPoint } from '#kit/crash-point.ts';
import { Conflict, CoreError, codeOf, InvalidInput, messageOf, NotFound, Unavailable } from '#kit/errors.ts';
import type { ActionDefinition, ActionKind, ActionOf } from '../action.ts';
import type { Person, ProgressUpdate, Watch } from '../agent.ts';
import { actionDigest } from '../planning/digest.ts';
import type { Policy } from '../planning/policy.ts';
import type { DataOf, NewEvent } from '../runs/event.ts';
import { branchLease, executorLease } from '../runs/lease-name.ts';
import type { ActionState, Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { diskError } from '../runs/storage-error.ts';
import {
  type ActionExecutor,
  type Effect,
  type Executors,
  executorFor,
  type Intent,
  type Step,
} from './action-executor.ts';
import { approvalProblem, findAction, nowFor } from './approval.ts';

export interface ExecuteOptions {
  readonly run_id: string;
  readonly kind: 'execute' | 'resume';
  readonly repo_dir: string | null;
  /** action_ids; null selects every action. */
  readonly actions: readonly string[] | null;
  readonly dry_run: boolean;
  readonly by: Person;
}

type ProblemOutcome = DataOf<'action_refused'>['outcome'];

/**
 * Runs what was approved, exactly as it was previewed, one action after the other. The intent of each effect is durable before
 * it, its result after it; what a crash left between the two is found out before anything else happens.
 */
export class ExecuteApproved {
  readonly #store: RunStore;
  readonly #executors: (run: Run) => Promise<Executors>;
  readonly #policy: Policy;

  constructor(store: RunStore, executors: (run: Run) => Promise<Executors>, policy: Policy) {
    this.#store = store;
    this.#executors = executors;
    this.#policy = policy;
  }

  async execute(options: ExecuteOptions, watch: Watch): Promise<Run> {
    const before = await this.#store.read(options.run_id);
    const selected = selectActions(before, options.actions);
    const lease = await this.#store.lease(executorLease(options.run_id));
    const leases = [lease];
    try {
      const { target } = before.plan ?? {};
      if (target?.branch != null) {
        leases.push(await this.#store.lease(branchLease({ ...target, branch: target.branch })));
      }
      const stop = AbortSignal.any([watch.signal, ...leases.map(({ lost }) => lost)]);
      const executors = await this.#executors(before);
      const execution_id = randomUUID();
      await this.#store.append(options.run_id, (run) => {
        checkExecutable(run);
        return [started(run, execution_id, selected, options, this.#policy)];
      });
      crashPoint('execute.started');
      const execution = new Execution(this.#store, executors, options, { ...watch, signal: stop });
      const stopped = await execution.runAll(selected);
      crashPoint('execute.before_finish');
      const run = await this.#store.append(options.run_id, (now) => finished(now, execution_id, stopped));
      await this.#store.writeViews(options.run_id);
      return run;
    } finally {
      for (const held of leases) held.release();
    }
  }
}

class Execution {
  readonly #store: RunStore;
  readonly #executors: Executors;
  readonly #options: ExecuteOptions;
  readonly #watch: Watch;
  readonly #rehearsed = new Set<string>();
  /** Cancel aborts what can stop cleanly; a started effect on a forge finishes. */
  readonly #cancel = new AbortController();

  constructor(store: RunStore, executors: Executors, options: ExecuteOptions, watch: Watch) {
    this.#store = store;
    this.#executors = executors;
    this.#options = options;
    this.#watch = watch;
  }

  /** @returns why it ended early; null when every selected action had its turn */
  async runAll(selected: readonly string[]): Promise<'cancelled' | null> {
    const polling = setInterval(() => void this.#lookForCancel(), 250);
    const abort = () => this.#cancel.abort();
    this.#watch.signal.addEventListener('abort', abort, { once: true });
    if (this.#watch.signal.aborted) abort();
    try {
      for (const id of selected) {
        await this.#lookForCancel();
        if (this.#cancel.signal.aborted) return 'cancelled';
        await this.#turn(id);
      }
      return this.#cancel.signal.aborted ? 'cancelled' : null;
    } finally {
      clearInterval(polling);
      this.#watch.signal.removeEventListener('abort', abort);
    }
  }

  async #lookForCancel(): Promise<void> {
    const run = await this.#store.read(this.#options.run_id);
    if (run.cancelling) this.#cancel.abort();
  }

  async #turn(actionId: string): Promise<void> {
    const run = await this.#store.read(this.#options.run_id);
    const state = findAction(run, actionId);
    const { definition } = state;
    if (state.state === 'succeeded' || state.state === 'undone') return;
    const clock = performance.now();
    this.#tell(definition, 'started', definition.title);
    const outcome = await this.#attempt(run, state);
    this.#tell(definition, outcome.state, outcome.message, performance.now() - clock);
  }

  async #attempt(run: Run, state: ActionState): Promise<{ state: ProgressUpdate['state']; message: string }> {
    const action = state.definition;
    const executor = executorFor(this.#executors, action);
    if (state.intent !== null && (state.state === 'running' || state.state === 'unknown')) {
      return this.#settle(executor, state.intent, action.action_id);
    }
    const problem = this.#problem(run, state);
    if (problem !== null) return this.#refuse(action, problem.state, problem.outcome);
    const step = this.#step(run, state);
    try {
      await executor.check(step);
    } catch (error) {
      return this.#notStarted(action, error);
    }
    if (step.rehearsal) return this.#recordRehearsal(action);
    return this.#start(executor, step);
  }

  /** Why the action may not start: its digest, its approval, or an action that it builds on. */
  #problem(run: Run, state: ActionState): { state: 'refused' | 'blocked'; outcome: ProblemOutcome } | null {
    const { definition } = state;
    const sealed = run.plan?.sealed.find(({ action_id }) => action_id === definition.action_id)?.digest;
    const digest = actionDigest(definition);
    if (digest !== definition.digest || digest !== sealed) {
      const message = `the action's digest is ${digest.slice(0, 12)}, sealed was ${String(sealed).slice(0, 12)}; run 'verify'`;
      return { state: 'refused', outcome: { code: 'digest_mismatch', message, facts: {} } };
    }
    const approval = approvalProblem(state, nowFor(run));
    if (approval !== null) return { state: 'refused', outcome: { ...approval, facts: {} } };
    for (const id of definition.depends_on) {
      const needed = findAction(run, id);
      if (needed.state === 'succeeded' || this.#rehearsed.has(id)) continue;
      const { ordinal, kind } = needed.definition;
      const why =
        needed.approval === 'approved' ? stateWords[needed.state] : `approval is ${needed.approval}`;
      const message = `builds on ${ordinal} ${kind}, which did not succeed: ${why}`;
      return { state: 'blocked', outcome: { code: 'blocked', message, facts: { on: id } } };
    }
    return null;
  }

  async #start(
    executor: ActionExecutor,
    step: Step,
  ): Promise<{ state: ProgressUpdate['state']; message: string }> {
    let rendered: Awaited<ReturnType<ActionExecutor['render']>>;
    try {
      rendered = await executor.render(step);
    } catch (error) {
      return this.#notStarted(step.action, error);
    }
    crashPoint(`execute.before_intent.${step.action.kind}`);
    const previous = step.state.intent;
    const started = await this.#intend(step.action.action_id, (run) => ({
      action_id: step.action.action_id,
      attempt: (previous?.attempt ?? 0) + 1,
      effect_at: nowFor(run),
      forge_time: rendered.forge_time,
      operation_before: rendered.operation_before,
      rendered: { ...rendered.bytes },
    }));
    if (started.refused !== null) return { state: 'refused', message: started.refused };
    return this.#perform(executor, started.intent);
  }

  /** Approval and expiry are read again under the append lock, in the same breath as the intent is written. */
  async #intend(
    actionId: string,
    make: (run: Run) => Intent,
  ): Promise<{ refused: null; intent: Intent } | { refused: string; intent: null }> {
    let refused: string | null = null;
    let intent: Intent | null = null;
    await this.#store.append(this.#options.run_id, (run) => {
      const problem = approvalProblem(findAction(run, actionId), nowFor(run));
      if (problem !== null || run.cancelling) {
        const outcome = {
          ...(problem ?? { code: 'cancelled', message: 'the run was cancelled' }),
          facts: {},
        };
        refused = outcome.message;
        return [{ type: 'action_refused', data: { action_id: actionId, state: 'refused', outcome } }];
      }
      intent = make(run);
      return [{ type: 'action_intent', data: intent }];
    });
    return intent === null ? { refused: refused ?? 'refused', intent: null } : { refused: null, intent };
  }

  async #perform(
    executor: ActionExecutor,
    intent: Intent,
  ): Promise<{ state: ProgressUpdate['state']; message: string }> {
    const run = await this.#store.read(this.#options.run_id);
    const state = findAction(run, intent.action_id);
    const { kind } = state.definition;
    crashPoint(`execute.intent.${kind}`);
    let effect: Effect;
    try {
      effect = await executor.perform(this.#step(run, state), intent);
    } catch (thrown) {
      const error = diskError(thrown);
      if (error instanceof Unavailable) {
        await this.#record(intent.action_id, 'unknown', failure(error), false);
        return this.#settle(executor, intent, intent.action_id);
      }
      await this.#record(intent.action_id, 'failed', failure(error), false);
      return { state: 'failed', message: messageOf(error) };
    }
    crashPoint(`execute.effect.${kind}`);
    return this.#recordEffect(intent.action_id, effect, false);
  }

  /** Finds out what became of an intent without a result, and goes on from there. */
  async #settle(
    executor: ActionExecutor,
    intent: Intent,
    actionId: string,
  ): Promise<{ state: ProgressUpdate['state']; message: string }> {
    const run = await this.#store.read(this.#options.run_id);
    const state = findAction(run, actionId);
    const step = this.#step(run, state);
    let found: Awaited<ReturnType<ActionExecutor['reconcile']>>;
    try {
      found = await executor.reconcile(step, intent);
    } catch (error) {
      const message = `outcome unknown, and asking failed: ${messageOf(error)}`;
      await this.#record(actionId, 'unknown', { code: 'outcome_unknown', message, facts: {} }, true);
      return { state: 'unknown', message };
    }
    crashPoint(`execute.reconciled.${state.definition.kind}`);
    switch (found.kind) {
      case 'done':
        return this.#recordEffect(actionId, found.effect, true);
      case 'conflict':
        await this.#record(actionId, 'failed', { code: 'conflict', message: found.message, facts: {} }, true);
        return { state: 'failed', message: found.message };
      case 'ask':
        await this.#record(
          actionId,
          'unknown',
          { code: 'outcome_unknown', message: found.message, facts: {} },
          true,
        );
        return { state: 'unknown', message: found.message };
      case 'again':
        return this.#again(executor, step, intent);
    }
  }

  /** The same bytes once more, after the same safeguards. */
  async #again(
    executor: ActionExecutor,
    step: Step,
    intent: Intent,
  ): Promise<{ state: ProgressUpdate['state']; message: string }> {
    try {
      await executor.check(step);
    } catch (error) {
      await this.#record(intent.action_id, 'failed', failure(error), true);
      return { state: 'failed', message: messageOf(error) };
    }
    const next = await this.#intend(intent.action_id, () => ({ ...intent, attempt: intent.attempt + 1 }));
    if (next.refused === null) return this.#perform(executor, next.intent);
    return { state: 'refused', message: next.refused };
  }

  #step(run: Run, state: ActionState): Step {
    return {
      run,
      action: state.definition as ActionOf<ActionKind>,
      state,
      repo_dir: this.#options.repo_dir,
      rehearsal: this.#options.dry_run || state.definition.dry_run,
      signal: this.#cancel.signal,
      progress: (message) => this.#tell(state.definition, 'output', message),
    };
  }

  async #recordRehearsal(action: ActionDefinition) {
    this.#rehearsed.add(action.action_id);
    const outcome = { code: undefined, message: 'every check passed; nothing was done', facts: {} };
    await this.#store.append(this.#options.run_id, () => [
      {
        type: 'action_result',
        data: {
          action_id: action.action_id,
          state: 'succeeded',
          rehearsal: true,
          reconciled: false,
          outcome,
          vcs: null,
        },
      },
    ]);
    return { state: 'succeeded' as const, message: `rehearsed: ${outcome.message}` };
  }

  async #recordEffect(actionId: string, effect: Effect, reconciled: boolean) {
    const state = effect.succeeded ? ('succeeded' as const) : ('failed' as const);
    const outcome = { code: effect.code, message: effect.message, facts: { ...effect.facts } };
    await this.#store.append(this.#options.run_id, () => [
      {
        type: 'action_result',
        data: { action_id: actionId, state, rehearsal: false, reconciled, outcome, vcs: effect.vcs },
      },
    ]);
    crashPoint('execute.result');
    return { state, message: effect.message };
  }

  async #record(
    actionId: string,
    state: 'failed' | 'unknown',
    outcome: ProblemOutcome,
    reconciled: boolean,
  ): Promise<void> {
    await this.#store.append(this.#options.run_id, () => [
      {
        type: 'action_result',
        data: { action_id: actionId, state, rehearsal: false, reconciled, outcome, vcs: null },
      },
    ]);
  }

  async #refuse(action: ActionDefinition, state: 'refused' | 'blocked', outcome: ProblemOutcome) {
    await this.#store.append(this.#options.run_id, () => [
      { type: 'action_refused', data: { action_id: action.action_id, state, outcome } },
    ]);
    return { state, message: outcome.message };
  }

  /** A safeguard or something behind it said no before anything was tried. */
  async #notStarted(action: ActionDefinition, thrown: unknown) {
    const error = diskError(thrown);
    if (!(error instanceof CoreError)) throw error;
    return this.#refuse(action, 'refused', failure(error));
  }

  #tell(action: ActionDefinition, state: ProgressUpdate['state'], message: string, duration?: number): void {
    const update = { step: action.kind, state, message, action_id: action.action_id };
    this.#watch.progress(duration === undefined ? update : { ...update, duration_ms: duration });
  }
}

const stateWords = {
  pending: 'it did not run yet',
  running: 'it is running',
  succeeded: 'it succeeded',
  failed: 'it failed',
  refused: 'it was refused',
  blocked: 'it is blocked',
  unknown: 'its outcome is unknown',
  undone: 'it was undone',
} satisfies Record<ActionState['state'], string>;

/** `exit_code` tells a safeguard's refusal from a disk that is full and from a remote that does not answer. */
function failure(error: unknown): ProblemOutcome {
  const facts = error instanceof CoreError ? { exit_code: error.exitCode } : {};
  return { code: codeOf(error), message: messageOf(error), facts };
}

/** Ordinal order, whatever order they were named in. */
function selectActions(run: Run, ids: readonly string[] | null): string[] {
  if (ids === null) return run.actions.map(({ definition }) => definition.action_id);
  const chosen = ids.map((id) => {
    const found = run.actions.filter(
      ({ definition }) => definition.action_id.startsWith(id) || String(definition.ordinal) === id,
    );
    const exact =
      found.find(({ definition }) => definition.action_id === id || String(definition.ordinal) === id) ??
      found[0];
    if (
      exact !== undefined &&
      (found.length === 1 || String(exact.definition.ordinal) === id || exact.definition.action_id === id)
    )
      return exact;
    if (found.length > 1)
      throw new InvalidInput(
        'action_ambiguous',
        `'${id}' fits several actions of run ${run.run_id}; give more of it`,
      );
    const choices = run.actions.map(({ definition }) => definition.action_id).join(', ');
    throw new NotFound(
      'action_not_found',
      `run ${run.run_id} has no action '${id}'; it has ${choices || 'none'}`,
    );
  });
  return [...new Set(chosen)]
    .toSorted((a, b) => a.definition.ordinal - b.definition.ordinal)
    .map(({ definition }) => definition.action_id);
}

function checkExecutable(run: Run): void {
  if (run.plan === null)
    throw new Conflict('run_not_planned', `run ${run.run_id} is ${run.status}: it has no actions to execute`);
  if (run.undo !== null)
    throw new Conflict(
      'run_undone',
      `run ${run.run_id} was undone, or its undo has begun; plan the issue again`,
    );
  if (run.status === 'cancelled')
    throw new Conflict('run_cancelled', `run ${run.run_id} was cancelled; plan the issue again`);
}

function started(
  run: Run,
  execution_id: string,
  selected: string[],
  options: ExecuteOptions,
  policy: Policy,
): NewEvent {
  const { kind, repo_dir, dry_run, by } = options;
  return {
    type: 'execution_started',
    data: {
      execution_id,
      kind,
      repo_dir,
      selected,
      dry_run,
      by: by.name,
      pid: process.pid,
      author: run.execution?.author ?? policy.commit_author,
    },
  };
}

function finished(run: Run, execution_id: string, stopped: 'cancelled' | null): NewEvent[] {
  const succeeded = run.actions.filter(({ state }) => state === 'succeeded').length;
  const message = `${succeeded} of ${run.actions.length} actions succeeded`;
  const events: NewEvent[] = [{ type: 'execution_finished', data: { execution_id, stopped, message } }];
  if (run.cancelling) events.push({ type: 'run_cancelled', data: { message } });
  return events;
}
