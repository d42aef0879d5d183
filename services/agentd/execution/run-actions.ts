import { setTimeout } from 'node:timers/promises';
import { movedText } from '#kit/contracts/run.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { CoreError, codeOf, Interrupted, messageOf, Unavailable } from '#kit/errors.ts';
import type { ActionIntent } from '../action.ts';
import type { ActionExecutor, Effect, Step } from '../actions/executor.ts';
import { type ActionDefinition, actionDigest, contradiction, type Executors } from '../actions/registry.ts';
import type { ProgressUpdate, Watch } from '../agent.ts';
import { type ActionState, type Run, willPublish } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { diskError } from '../runs/storage-error.ts';
import { approvalProblem, findAction, nowFor } from './decisions.ts';
import { type Attempt, ExecutionLog, type ExecutionScope, type ProblemOutcome } from './execution-log.ts';
import { type BaseSeen, baseEvents } from './moved-base.ts';

type Executor = ActionExecutor<ActionDefinition>;

/** One execution of the selected actions, one after the other. The caller holds the run's lease. */
export class Execution {
  readonly #log: ExecutionLog;
  readonly #executors: Executors;
  readonly #lookAtBase: (run: Run, signal: AbortSignal) => Promise<BaseSeen>;
  readonly #options: ExecutionScope;
  readonly #watch: Watch;
  /** Whose checks passed in a dry run. */
  readonly #dryRun = new Set<string>();
  /** Repeated once already; no action is repeated twice. */
  readonly #repeated = new Set<string>();
  /** Cancel aborts what can stop cleanly; a started effect on a forge finishes. */
  readonly #cancel = new AbortController();

  constructor(
    store: RunStore,
    executors: Executors,
    lookAtBase: (run: Run, signal: AbortSignal) => Promise<BaseSeen>,
    options: ExecutionScope,
    watch: Watch,
  ) {
    this.#log = new ExecutionLog(store, options);
    this.#executors = executors;
    this.#lookAtBase = lookAtBase;
    this.#options = options;
    this.#watch = watch;
  }

  /** Ends early when the run is cancelled or its person stops it; selected actions that did not start stay as they were. */
  async runAll(selected: readonly string[]): Promise<void> {
    const polling = setInterval(() => void this.#lookForCancel(), 250);
    const abort = () => this.#cancel.abort();
    this.#watch.signal.addEventListener('abort', abort, { once: true });
    if (this.#watch.signal.aborted) abort();
    try {
      await this.#prepare(selected);
      const run = await this.#log.read();
      let looked = false;
      for (const id of selected) {
        await this.#lookForCancel();
        if (this.#cancel.signal.aborted) return;
        if (!looked && findAction(run, id).definition.gate === 'publish') {
          looked = true;
          await this.#checkBase();
        }
        await this.#run(id);
      }
      if (!looked) await this.#checkBase();
    } finally {
      clearInterval(polling);
      this.#watch.signal.removeEventListener('abort', abort);
      await Promise.all(Object.values(this.#executors).map((executor) => executor.dispose?.()));
    }
  }

  /** Only what is expected to run: approved, and not done yet. */
  async #prepare(selected: readonly string[]): Promise<void> {
    const run = await this.#log.read();
    for (const id of selected) {
      const state = findAction(run, id);
      const step = this.#step(run, state);
      const over = state.state === 'succeeded' || state.state === 'undone';
      if (over || step.dry_run || approvalProblem(state, nowFor(run)) !== null) continue;
      this.#executors[state.definition.kind].prepare?.(step);
    }
  }

  /** Before anything is published: whether the base moved in the same files. A warning, never a refusal. */
  async #checkBase(): Promise<void> {
    const run = await this.#log.read();
    if (!willPublish(run)) return;
    const report = (message: string) => this.#watch.progress({ step: 'base', state: 'info', message });
    try {
      const seen = await this.#lookAtBase(run, this.#cancel.signal);
      const now = await this.#log.append((before) => baseEvents(before, seen));
      if (now.base_moved !== null) report(movedText(now.base_moved));
    } catch (error) {
      if (!(error instanceof CoreError) || error.code === 'execution_superseded') throw error;
      report(`whether ${run.plan!.target.base_branch} has moved is not known: ${error.message}`);
    }
  }

  async #lookForCancel(): Promise<void> {
    const run = await this.#log.read();
    if (run.cancelling) this.#cancel.abort();
  }

  async #run(actionId: string): Promise<void> {
    const run = await this.#log.read();
    const state = findAction(run, actionId);
    const { definition } = state;
    if (state.state === 'succeeded' || state.state === 'undone') return;
    const clock = performance.now();
    this.#report(definition, 'started', definition.title);
    const outcome = await this.#attempt(run, state);
    this.#report(definition, outcome.state, outcome.message, performance.now() - clock);
  }

  async #attempt(run: Run, state: ActionState): Promise<Attempt> {
    const action = state.definition;
    const executor = this.#executors[action.kind];
    if (state.intent !== null && (state.state === 'running' || state.state === 'unknown')) {
      const later = await this.#askedToWait(executor, action, state.outcome?.facts.resume_at);
      return later ?? this.#settle(executor, state.intent, action.action_id);
    }
    const problem = await this.#problem(run, state);
    if (problem !== null) return this.#log.refusal(action, problem.state, problem.outcome);
    const step = this.#step(run, state);
    try {
      await executor.check(step);
    } catch (error) {
      return this.#notStarted(action, error);
    }
    if (step.dry_run) {
      this.#dryRun.add(action.action_id);
      return this.#log.dryRun(action);
    }
    return this.#start(executor, step);
  }

  /** Why the action may not start: its digest, its approval, a changed artifact, or an action that it builds on. */
  async #problem(
    run: Run,
    state: ActionState,
  ): Promise<{ state: 'refused' | 'blocked'; outcome: ProblemOutcome } | null> {
    const { definition } = state;
    const refused = (code: string, message: string) =>
      ({ state: 'refused', outcome: { code, message, facts: {} } }) as const;
    const sealed = run.plan?.sealed.find(({ action_id }) => action_id === definition.action_id)?.digest;
    const digest = actionDigest(definition);
    if (digest !== definition.digest || digest !== sealed) {
      const message = `the action's digest is ${digest.slice(0, 12)}, sealed was ${String(sealed).slice(0, 12)}; run 'verify'`;
      return refused('digest_mismatch', message);
    }
    const contradicted = contradiction(definition, { ...run.plan!, number: run.request.number });
    if (contradicted !== null) {
      const message = `the definition contradicts itself: ${contradicted}; plan the issue again`;
      return refused('definition_inconsistent', message);
    }
    const approval = approvalProblem(state, nowFor(run));
    if (approval !== null) return refused(approval.code, approval.message);
    try {
      await this.#log.requireArtifacts();
    } catch (error) {
      if (!(error instanceof CoreError)) throw error;
      return { state: 'refused', outcome: failure(error) };
    }
    for (const id of definition.depends_on) {
      const needed = findAction(run, id);
      if (needed.state === 'succeeded' || this.#dryRun.has(id)) continue;
      const { ordinal, kind } = needed.definition;
      const why =
        needed.approval === 'approved' ? stateWords[needed.state] : `approval is ${needed.approval}`;
      const message = `builds on ${ordinal} ${kind}, which did not succeed: ${why}`;
      return { state: 'blocked', outcome: { code: 'blocked', message, facts: { on: id } } };
    }
    return null;
  }

  async #start(executor: Executor, step: Step<ActionDefinition>): Promise<Attempt> {
    let rendered: Awaited<ReturnType<Executor['render']>>;
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
      account: rendered.account,
      operation_before: rendered.operation_before,
      rendered: { ...rendered.bytes },
    }));
    if (typeof started === 'string') return { state: 'refused', message: started };
    return this.#perform(executor, started);
  }

  /**
   * Approval and expiry are read again under the append lock that the intent is written under.
   * @returns the intent, or why it was refused
   */
  async #intend(actionId: string, make: (run: Run) => ActionIntent): Promise<ActionIntent | string> {
    let intended: ActionIntent | string = 'refused';
    await this.#log.append((run) => {
      const problem = approvalProblem(findAction(run, actionId), nowFor(run));
      if (problem !== null || run.cancelling) {
        const outcome = {
          ...(problem ?? { code: 'cancelled', message: 'the run was cancelled' }),
          facts: {},
        };
        intended = outcome.message;
        return [{ type: 'action_refused', data: { action_id: actionId, state: 'refused', outcome } }];
      }
      intended = make(run);
      return [{ type: 'action_intent', data: intended }];
    });
    return intended;
  }

  async #perform(executor: Executor, intent: ActionIntent): Promise<Attempt> {
    const run = await this.#log.read();
    const state = findAction(run, intent.action_id);
    const { definition } = state;
    const { kind } = definition;
    crashPoint(`execute.intent.${kind}`);
    let effect: Effect;
    try {
      effect = await executor.perform(this.#step(run, state), intent);
    } catch (thrown) {
      const error = diskError(thrown);
      if (error instanceof Unavailable) {
        const outcome = failure(error);
        await this.#log.problem(intent.action_id, 'unknown', outcome, false);
        const later = await this.#askedToWait(executor, definition, outcome.facts.resume_at);
        return later ?? this.#settle(executor, intent, intent.action_id);
      }
      // Stopped by a person before it had an effect: to be done again, not a failure.
      const state = error instanceof Interrupted ? 'unknown' : 'failed';
      return this.#log.problem(intent.action_id, state, failure(error), false);
    }
    crashPoint(`execute.effect.${kind}`);
    return this.#log.effect(intent.action_id, effect, false);
  }

  /**
   * Nothing is sent before the time that was asked for: it is waited for, or the action stays unknown until then.
   * @returns null once the time has come
   */
  async #askedToWait(
    executor: Executor,
    action: ActionDefinition,
    resumeAt: unknown,
  ): Promise<Attempt | null> {
    const wait = typeof resumeAt === 'string' ? Date.parse(resumeAt) - Date.now() : 0;
    if (!(wait > 0)) return null;
    const message = `asked to wait; nothing is sent before ${resumeAt}, resume then`;
    if (wait > (executor.max_wait_ms ?? 0)) return { state: 'unknown', message };
    this.#report(action, 'output', `asked to wait; going on in ${Math.ceil(wait / 1000)} s`);
    const { signal } = this.#cancel;
    await setTimeout(wait, undefined, { signal }).catch(() => {});
    return signal.aborted ? { state: 'unknown', message } : null;
  }

  /** Finds out what became of an intent without a result, and goes on from there. */
  async #settle(executor: Executor, intent: ActionIntent, actionId: string): Promise<Attempt> {
    const run = await this.#log.read();
    const state = findAction(run, actionId);
    const step = this.#step(run, state);
    const unknown = (message: string, facts = {}): Promise<Attempt> =>
      this.#log.problem(actionId, 'unknown', { code: 'outcome_unknown', message, facts }, true);
    let found: Awaited<ReturnType<Executor['reconcile']>>;
    try {
      found = await executor.reconcile(step, intent);
    } catch (error) {
      return unknown(`outcome unknown, and asking failed: ${messageOf(error)}`, failure(error).facts);
    }
    crashPoint(`execute.reconciled.${state.definition.kind}`);
    switch (found.kind) {
      case 'done':
        return this.#log.effect(actionId, found.effect, true);
      case 'conflict': {
        const outcome = { code: 'conflict', message: found.message, facts: {} };
        return this.#log.problem(actionId, 'failed', outcome, true);
      }
      case 'ask':
        return unknown(found.message);
      case 'again':
        if (!this.#repeated.has(actionId)) return this.#again(executor, step, intent);
        return unknown('it did not happen in two tries; resume later');
    }
  }

  /** The same bytes once more, after the same safeguards. */
  async #again(executor: Executor, step: Step<ActionDefinition>, intent: ActionIntent): Promise<Attempt> {
    this.#repeated.add(intent.action_id);
    try {
      await executor.check(step);
    } catch (error) {
      return this.#log.problem(intent.action_id, 'failed', failure(error), true);
    }
    const next = await this.#intend(intent.action_id, () => ({ ...intent, attempt: intent.attempt + 1 }));
    if (typeof next === 'string') return { state: 'refused', message: next };
    return this.#perform(executor, next);
  }

  #step(run: Run, state: ActionState): Step<ActionDefinition> {
    return {
      run,
      action: state.definition,
      state,
      repo_dir: this.#options.repo_dir,
      dry_run: this.#options.dry_run || state.definition.dry_run,
      signal: this.#cancel.signal,
      progress: (message) => this.#report(state.definition, 'output', message),
    };
  }

  /** A safeguard or something behind it said no before anything was tried. */
  async #notStarted(action: ActionDefinition, thrown: unknown) {
    const error = diskError(thrown);
    if (!(error instanceof CoreError)) throw error;
    return this.#log.refusal(action, 'refused', failure(error));
  }

  #report(
    action: ActionDefinition,
    state: ProgressUpdate['state'],
    message: string,
    duration?: number,
  ): void {
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

/** `exit_code` separates a safeguard's refusal from a full disk and from a remote that does not answer. */
function failure(error: unknown): ProblemOutcome {
  const message = messageOf(error);
  if (!(error instanceof CoreError)) return { code: codeOf(error), message, facts: {} };
  const facts = { exit_code: error.exitCode };
  if (!(error instanceof Unavailable) || error.retryAfter === undefined)
    return { code: error.code, message, facts };
  const resume_at = new Date(Date.now() + error.retryAfter * 1000).toISOString();
  return {
    code: error.code,
    message: `${message}; resume after ${resume_at}`,
    facts: { ...facts, resume_at },
  };
}
