import { crashPoint } from '#kit/crash-point.ts';
import { Conflict } from '#kit/errors.ts';
import type { ActionFacts } from '../action.ts';
import type { Effect } from '../actions/executor.ts';
import type { DataOf, NewEvent } from '../runs/event.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';

export type ProblemOutcome = DataOf<'action_refused'>['outcome'];

/** What one execution is about. */
export interface ExecutionScope {
  readonly run_id: string;
  readonly execution_id: string;
  readonly repo_dir: string | null;
  readonly dry_run: boolean;
}

/** What one execution writes into the log of its run: the outcomes of actions. Each method returns what people are shown. */
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
   * Only while this execution is the run's newest: whoever lost the lease without noticing writes nothing more.
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

  async dryRun({ action_id }: ActionFacts) {
    const outcome = { code: undefined, message: 'every check passed; nothing was done', facts: {} };
    await this.#result({
      action_id,
      state: 'succeeded',
      rehearsal: true,
      reconciled: false,
      outcome,
      vcs: null,
    });
    return { state: 'succeeded' as const, message: `rehearsed: ${outcome.message}` };
  }

  async effect(action_id: string, effect: Effect, reconciled: boolean) {
    const state = effect.succeeded ? ('succeeded' as const) : ('failed' as const);
    const outcome = { code: effect.code, message: effect.message, facts: { ...effect.facts } };
    await this.#result({ action_id, state, rehearsal: false, reconciled, outcome, vcs: effect.vcs });
    crashPoint('execute.result');
    return { state, message: effect.message };
  }

  /** @param reconciled found out afterwards, not by the attempt itself */
  result(
    action_id: string,
    state: 'failed' | 'unknown',
    outcome: ProblemOutcome,
    reconciled: boolean,
  ): Promise<void> {
    return this.#result({ action_id, state, rehearsal: false, reconciled, outcome, vcs: null });
  }

  async refusal({ action_id }: ActionFacts, state: 'refused' | 'blocked', outcome: ProblemOutcome) {
    await this.append(() => [{ type: 'action_refused', data: { action_id, state, outcome } }]);
    return { state, message: outcome.message };
  }

  async #result(data: DataOf<'action_result'>): Promise<void> {
    await this.append(() => [{ type: 'action_result', data }]);
  }
}
