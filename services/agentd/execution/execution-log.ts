import { crashPoint } from '#kit/crash-point.ts';
import { Conflict } from '#kit/errors.ts';
import type { ActionFacts } from '../action.ts';
import type { Effect } from '../actions/executor.ts';
import type { ProgressUpdate } from '../agent.ts';
import type { DataOf, NewEvent } from '../runs/event.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';

/** How one action went, for people. */
export type Attempt = Pick<ProgressUpdate, 'state' | 'message'>;

export type ProblemOutcome = DataOf<'action_refused'>['outcome'];

/** What one execution is about. */
export interface ExecutionScope {
  readonly run_id: string;
  readonly execution_id: string;
  readonly repo_dir: string | null;
  readonly dry_run: boolean;
}

/** What one execution writes into the log of its run: the outcomes of actions. */
export class ExecutionLog {
  readonly #store: RunStore;
  readonly #scope: ExecutionScope;

  constructor(store: RunStore, scope: ExecutionScope) {
    this.#store = store;
    this.#scope = scope;
  }

  read(): Promise<Run> {
    return this.#store.read(this.#scope.run_id);
  }

  requireArtifacts(): Promise<void> {
    return this.#store.requireArtifacts(this.#scope.run_id);
  }

  /**
   * Only while this execution is the run's newest: a process that lost the lease without noticing writes nothing more.
   * @throws Conflict `execution_superseded`
   */
  append(decide: (run: Run) => readonly NewEvent[]): Promise<Run> {
    const { run_id, execution_id } = this.#scope;
    return this.#store.append(run_id, (run) => {
      if (run.execution?.execution_id === execution_id && !run.execution.finished) return decide(run);
      throw new Conflict(
        'execution_superseded',
        `another execution of run ${run_id} has begun; this one ends`,
      );
    });
  }

  async dryRun({ action_id }: ActionFacts): Promise<Attempt> {
    const message = 'every check passed; nothing was done';
    const outcome = { code: undefined, message, facts: {} };
    await this.#result({ action_id, state: 'succeeded', outcome, rehearsal: true, ...plain });
    return { state: 'succeeded', message: `rehearsed: ${message}` };
  }

  async effect(action_id: string, effect: Effect, reconciled: boolean): Promise<Attempt> {
    const { succeeded, code, message, facts, vcs } = effect;
    const state = succeeded ? 'succeeded' : 'failed';
    const outcome = { code, message, facts: { ...facts } };
    const attempt = await this.#result({ action_id, state, outcome, rehearsal: false, reconciled, vcs });
    crashPoint('execute.result');
    return attempt;
  }

  /** @param reconciled found out afterwards, not by the attempt itself */
  problem(
    action_id: string,
    state: 'failed' | 'unknown',
    outcome: ProblemOutcome,
    reconciled: boolean,
  ): Promise<Attempt> {
    return this.#result({ action_id, state, outcome, rehearsal: false, ...plain, reconciled });
  }

  async refusal(
    { action_id }: ActionFacts,
    state: 'refused' | 'blocked',
    outcome: ProblemOutcome,
  ): Promise<Attempt> {
    await this.append(() => [{ type: 'action_refused', data: { action_id, state, outcome } }]);
    return { state, message: outcome.message };
  }

  async #result(data: DataOf<'action_result'>): Promise<Attempt> {
    await this.append(() => [{ type: 'action_result', data }]);
    return { state: data.state, message: data.outcome.message };
  }
}

const plain = { reconciled: false, vcs: null };
