import { setTimeout } from 'node:timers/promises';
import { guarded } from '#kit/callbacks.ts';
import { movedText } from '#kit/contracts/run.ts';
import { crashPoint } from '#kit/crash-point.ts';
import {
  Conflict,
  CoreError,
  codeOf,
  Interrupted,
  messageOf,
  RateLimited,
  Unavailable,
} from '#kit/errors.ts';
import type { ActionIntent } from '../action.ts';
import type { ActionExecutor, Effect, Step } from '../actions/executor.ts';
import { type ActionDefinition, actionDigest, contradiction, type Executors } from '../actions/registry.ts';
import type { ProgressUpdate, Watch } from '../agent.ts';
import type { ReadApprovals } from '../approval/current.ts';
import type { DataOf, NewEvent } from '../runs/event.ts';
import { type ActionState, isUnsettled, nowFor, type Run, willPublish } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { diskError } from '../runs/storage-error.ts';
import { newRotations, problemNow } from './approvals-now.ts';
import { issueEvents, type LookAtIssue } from './changed-issue.ts';
import { approvalProblem, findAction } from './decisions.ts';
import { endsExecution } from './effects.ts';
import { onceRead } from './judged-run.ts';
import { baseEvents, type LookAtBase } from './moved-base.ts';

type Executor = ActionExecutor<ActionDefinition>;

/** Outcome of an attempt, for people. */
type Attempt = Pick<ProgressUpdate, 'state' | 'message'>;

type ProblemOutcome = DataOf<'action_refused'>['outcome'];

type Result = DataOf<'action_result'>;

interface Parts {
  readonly store: RunStore;
  readonly executors: Executors;
  readonly lookAtBase: LookAtBase;
  readonly lookAtIssue: LookAtIssue;
  readonly approvals: ReadApprovals;
  readonly approvalsFresh: () => Promise<void>;
}

interface ExecutionScope {
  readonly run_id: string;
  readonly execution_id: string;
  /** undefined: the caller did not say whether there is one. */
  readonly repo_dir: string | null | undefined;
  readonly dry_run: boolean;
}

/** One execution of the selected actions, one after the other. The caller holds the run's lease. */
export class Execution {
  readonly #store: RunStore;
  readonly #executors: Executors;
  readonly #lookAtBase: LookAtBase;
  readonly #lookAtIssue: LookAtIssue;
  readonly #approvals: ReadApprovals;
  readonly #approvalsFresh: () => Promise<void>;
  readonly #scope: ExecutionScope;
  readonly #watch: Watch;
  /** Actions whose checks passed in a dry run. */
  readonly #dryRun = new Set<string>();
  /** Actions that were repeated; no action is repeated twice. */
  readonly #repeated = new Set<string>();
  readonly #cancel = new AbortController();
  /** Ends what can stop cleanly; a started effect on a forge finishes. */
  readonly #stop: AbortSignal;

  constructor(
    { store, executors, lookAtBase, lookAtIssue, approvals, approvalsFresh }: Parts,
    scope: ExecutionScope,
    watch: Watch,
  ) {
    this.#store = store;
    this.#executors = executors;
    this.#lookAtBase = lookAtBase;
    this.#lookAtIssue = lookAtIssue;
    this.#approvals = approvals;
    this.#approvalsFresh = approvalsFresh;
    this.#scope = scope;
    this.#watch = watch;
    this.#stop = AbortSignal.any([watch.signal, this.#cancel.signal]);
  }

  /** Ends early when the run is cancelled or its person stops it; selected actions that did not start stay as they were. */
  async runAll(selected: readonly string[]): Promise<void> {
    // Ignores a record that cannot be read: the next look or the next action reads it again.
    const polling = setInterval(
      guarded('an execution', () => this.#lookForCancel().catch(() => {})),
      250,
    );
    try {
      await this.#prepare(selected);
      const run = await this.#read();
      let looked = false;
      for (const id of selected) {
        await this.#lookForCancel();
        if (this.#stop.aborted) return;
        if (!looked && findAction(run, id).definition.gate === 'publish') {
          looked = true;
          await this.#checkBase();
          await this.#checkIssue();
        }
        await this.#run(id);
      }
      if (!looked) await this.#checkBase();
    } finally {
      clearInterval(polling);
      await Promise.all(Object.values(this.#executors).map((executor) => executor.dispose?.()));
    }
  }

  /** Prepares only actions that are expected to run: approved and not done. */
  async #prepare(selected: readonly string[]): Promise<void> {
    const run = await this.#read();
    for (const id of selected) {
      const state = findAction(run, id);
      const step = this.#step(run, state);
      const over = state.state === 'succeeded' || state.state === 'undone';
      if (over || step.dry_run || approvalProblem(state, nowFor(run)) !== null) continue;
      this.#executors[state.definition.kind].prepare?.(step);
    }
  }

  /** Before publishing, warns if the base branch moved in the same files. Never refuses. */
  async #checkBase(): Promise<void> {
    const run = await this.#read();
    if (!willPublish(run)) return;
    const report = (message: string) => this.#watch.progress({ step: 'base', state: 'info', message });
    try {
      const seen = await this.#lookAtBase(run, this.#stop);
      const now = await this.#append((before) => baseEvents(before, seen));
      if (now.base_moved !== null) report(movedText(now.base_moved));
    } catch (error) {
      if (!(error instanceof CoreError) || error.code === 'execution_superseded') throw error;
      report(`whether ${run.plan!.target.base_branch} has moved is not known: ${error.message}`);
    }
  }

  /** Before publishing, records changes of the issue. Does not stop approved actions. */
  async #checkIssue(): Promise<void> {
    const run = await this.#read();
    if (!willPublish(run)) return;
    const report = (message: string) => this.#watch.progress({ step: 'issue', state: 'info', message });
    try {
      const changed = await this.#lookAtIssue(run, this.#stop);
      await this.#append((before) => issueEvents(before, changed));
      if (changed !== null) report(changed);
    } catch (error) {
      if (!(error instanceof CoreError) || error.code === 'execution_superseded') throw error;
      report(`whether the issue was closed is not known: ${error.message}`);
    }
  }

  async #lookForCancel(): Promise<void> {
    const run = await this.#read();
    if (run.cancelling) this.#cancel.abort();
  }

  async #run(actionId: string): Promise<void> {
    const run = await this.#read();
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
    if (state.intent !== null && isUnsettled(state)) {
      const later = await this.#askedToWait(executor, action, 'unknown', state.outcome?.facts.resume_at);
      return later ?? this.#settle(executor, state.intent);
    }
    if (state.state === 'failed') {
      const later = await this.#askedToWait(executor, action, 'failed', state.outcome?.facts.resume_at);
      if (later !== null) return later;
    }
    const problem = await this.#problem(run, state);
    if (problem !== null) return this.#refuse(action, problem.state, problem.outcome);
    const step = this.#step(run, state);
    try {
      await executor.check(step);
    } catch (error) {
      return this.#notStarted(action, error);
    }
    if (step.dry_run) {
      this.#dryRun.add(action.action_id);
      return this.#checked(action);
    }
    return this.#start(executor, step);
  }

  /** Why the action may not start: its digest, its approval, a changed artifact, or an action that it depends on. */
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
    await this.#approvalsFresh();
    const approval = this.#approvalProblem(run, state);
    if (approval !== null) return refused(approval.code, approval.message);
    try {
      await this.#store.requireArtifacts(this.#scope.run_id);
    } catch (error) {
      // A record that cannot be read says nothing about the action. The execution ends here and can be resumed.
      if (!(error instanceof CoreError) || error instanceof Unavailable) throw error;
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

  #approvalProblem(
    run: Run,
    state: ActionState,
    read = this.#approvals,
  ): { code: string; message: string } | null {
    const now = nowFor(run);
    return approvalProblem(state, now) ?? problemNow(run, state, now, read);
  }

  async #start(executor: Executor, step: Step<ActionDefinition>): Promise<Attempt> {
    let rendered: Awaited<ReturnType<Executor['render']>>;
    let deliver_to: ActionIntent['deliver_to'];
    try {
      rendered = await executor.render(step);
      deliver_to = await executor.deliversTo?.(step);
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
      deliver_to,
      rendered: { ...rendered.bytes },
    }));
    if (typeof started === 'string') return { state: 'refused', message: started };
    return this.#perform(executor, started);
  }

  /**
   * Checks approval, expiry and the current configuration again, under the append lock that the intent is written under.
   * @returns the intent, or why it was refused
   */
  async #intend(actionId: string, make: (run: Run) => ActionIntent): Promise<ActionIntent | string> {
    let intended: ActionIntent | string = 'refused';
    await this.#approvalsFresh();
    await this.#append((run) => {
      const state = findAction(run, actionId);
      const current = onceRead(this.#approvals);
      const problem = this.#approvalProblem(run, state, current);
      if (problem !== null || run.cancelling) {
        const outcome = {
          ...(problem ?? { code: 'cancelled', message: 'the run was cancelled' }),
          facts: {},
        };
        intended = outcome.message;
        return [{ type: 'action_refused', data: { action_id: actionId, state: 'refused', outcome } }];
      }
      intended = make(run);
      const rotations = newRotations(run, state, current);
      return [
        ...rotations.map((data) => ({ type: 'token_rotated', data }) as const),
        { type: 'action_intent', data: intended },
      ];
    });
    return intended;
  }

  async #perform(executor: Executor, intent: ActionIntent): Promise<Attempt> {
    const { action_id } = intent;
    const run = await this.#read();
    const state = findAction(run, action_id);
    const { definition } = state;
    const { kind } = definition;
    crashPoint(`execute.intent.${kind}`);
    let effect: Effect;
    try {
      effect = await executor.perform(this.#step(run, state), intent);
    } catch (thrown) {
      const error = diskError(thrown);
      if (endsExecution(error)) throw error;
      if (error instanceof RateLimited) return this.#refusedForNow(executor, intent, error);
      if (error instanceof Unavailable) {
        const outcome = failure(error);
        await this.#result({ action_id, state: 'unknown', outcome });
        const later = await this.#askedToWait(executor, definition, 'unknown', outcome.facts.resume_at);
        return later ?? this.#settle(executor, intent);
      }
      // A person stopped the action before it had an effect. It can be repeated and has not failed.
      const state = error instanceof Interrupted ? 'unknown' : 'failed';
      return this.#result({ action_id, state, outcome: failure(error) });
    }
    crashPoint(`execute.effect.${kind}`);
    return this.#done(action_id, effect, false);
  }

  /** A write that a rate limit refused had no effect. It is sent again once when the limit ends. Otherwise the action has failed. */
  async #refusedForNow(executor: Executor, intent: ActionIntent, error: RateLimited): Promise<Attempt> {
    const { action_id } = intent;
    const outcome = failure(error);
    const failed = await this.#result({ action_id, state: 'failed', outcome });
    if (this.#repeated.has(action_id)) return failed;
    const run = await this.#read();
    const state = findAction(run, action_id);
    const later = await this.#askedToWait(executor, state.definition, 'failed', outcome.facts.resume_at);
    return later ?? this.#again(executor, this.#step(run, state), intent);
  }

  /**
   * Waits until the requested time before the next send, or leaves the action unchanged until then.
   * @returns null once the time has come
   */
  async #askedToWait(
    executor: Executor,
    action: ActionDefinition,
    state: 'unknown' | 'failed',
    resumeAt: unknown,
  ): Promise<Attempt | null> {
    const wait = typeof resumeAt === 'string' ? Date.parse(resumeAt) - Date.now() : 0;
    if (!(wait > 0)) return null;
    const message = `asked to wait; nothing is sent before ${resumeAt}, resume then`;
    if (wait > (executor.max_wait_ms ?? 0)) return { state, message };
    this.#report(action, 'output', `asked to wait; going on in ${Math.ceil(wait / 1000)} s`);
    const signal = this.#stop;
    await setTimeout(wait, undefined, { signal }).catch(() => {});
    return signal.aborted ? { state, message } : null;
  }

  /** Reconciles an intent without a result, and continues from there. */
  async #settle(executor: Executor, intent: ActionIntent): Promise<Attempt> {
    const { action_id } = intent;
    const run = await this.#read();
    const state = findAction(run, action_id);
    const step = this.#step(run, state);
    const unknown = (message: string, facts = {}): Promise<Attempt> =>
      this.#result({
        action_id,
        state: 'unknown',
        outcome: { code: 'outcome_unknown', message, facts },
        reconciled: true,
      });
    let found: Awaited<ReturnType<Executor['reconcile']>>;
    try {
      found = await executor.reconcile(step, intent);
    } catch (error) {
      if (endsExecution(error)) throw error;
      return unknown(`outcome unknown, and asking failed: ${messageOf(error)}`, failure(error).facts);
    }
    crashPoint(`execute.reconciled.${state.definition.kind}`);
    switch (found.kind) {
      case 'done':
        return this.#done(action_id, found.effect, true);
      case 'conflict': {
        const outcome = { code: 'conflict', message: found.message, facts: {} };
        return this.#result({ action_id, state: 'failed', outcome, reconciled: true });
      }
      case 'ask':
        return unknown(found.message);
      case 'again':
        if (!this.#repeated.has(action_id)) return this.#again(executor, step, intent);
        return unknown('it did not happen in two tries; resume later');
    }
  }

  /** Sends the same bytes again, after the same checks as the first time. */
  async #again(executor: Executor, step: Step<ActionDefinition>, intent: ActionIntent): Promise<Attempt> {
    const { action_id } = intent;
    this.#repeated.add(action_id);
    const run = await this.#read();
    const problem = await this.#problem(run, findAction(run, action_id));
    if (problem !== null) return this.#refuse(step.action, problem.state, problem.outcome);
    let deliver_to: ActionIntent['deliver_to'];
    try {
      await executor.check(step);
      deliver_to = await executor.deliversTo?.(step);
    } catch (error) {
      if (endsExecution(error)) throw error;
      return this.#result({ action_id, state: 'failed', outcome: failure(error), reconciled: true });
    }
    const next = await this.#intend(action_id, () => ({
      ...intent,
      attempt: intent.attempt + 1,
      deliver_to,
    }));
    if (typeof next === 'string') return { state: 'refused', message: next };
    return this.#perform(executor, next);
  }

  #step(run: Run, state: ActionState): Step<ActionDefinition> {
    return {
      run,
      action: state.definition,
      state,
      repo_dir: this.#scope.repo_dir,
      dry_run: this.#scope.dry_run || state.definition.dry_run,
      signal: this.#stop,
      progress: (message) => this.#report(state.definition, 'output', message),
    };
  }

  /** A safeguard, or a call behind it, refused the action before it had an effect. */
  async #notStarted(action: ActionDefinition, thrown: unknown) {
    const error = diskError(thrown);
    if (!(error instanceof CoreError) || endsExecution(error)) throw error;
    return this.#refuse(action, 'refused', failure(error));
  }

  #read(): Promise<Run> {
    return this.#store.read(this.#scope.run_id);
  }

  /**
   * Appends only while this execution is the newest of the run, so that a process with a lost lease writes no events.
   * @throws Conflict `execution_superseded`
   */
  #append(decide: (run: Run) => readonly NewEvent[]): Promise<Run> {
    const { run_id, execution_id } = this.#scope;
    return this.#store.append(run_id, (run) => {
      if (run.execution?.execution_id === execution_id && !run.execution.finished) return decide(run);
      throw new Conflict(
        'execution_superseded',
        `another execution of run ${run_id} has begun; this one ends`,
      );
    });
  }

  async #refuse(
    { action_id }: ActionDefinition,
    state: 'refused' | 'blocked',
    outcome: ProblemOutcome,
  ): Promise<Attempt> {
    await this.#append(() => [{ type: 'action_refused', data: { action_id, state, outcome } }]);
    return { state, message: outcome.message };
  }

  async #checked({ action_id }: ActionDefinition): Promise<Attempt> {
    const message = 'every check passed; nothing was done';
    const outcome = { code: undefined, message, facts: {} };
    await this.#result({ action_id, state: 'succeeded', outcome, rehearsal: true });
    return { state: 'succeeded', message: `dry run: ${message}` };
  }

  async #done(action_id: string, effect: Effect, reconciled: boolean): Promise<Attempt> {
    const { succeeded, code, message, facts, vcs } = effect;
    const outcome = { code, message, facts: { ...facts } };
    const state = succeeded ? 'succeeded' : 'failed';
    const attempt = await this.#result({ action_id, state, outcome, reconciled, vcs });
    crashPoint('execute.result');
    return attempt;
  }

  async #result(result: Pick<Result, 'action_id' | 'state' | 'outcome'> & Partial<Result>): Promise<Attempt> {
    const data = { rehearsal: false, reconciled: false, vcs: null, ...result };
    await this.#append(() => [{ type: 'action_result', data }]);
    return { state: data.state, message: data.outcome.message };
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
