import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** An approval that a host answered with 200. */
export interface Acknowledged {
  readonly run_id: string;
  readonly action_id: string;
}

/** What the clients of a trial know: what was acknowledged to them, and how each case stands. */
export class Journal {
  readonly approvals: Acknowledged[] = [];
  /** Acknowledged events, by id: the case. */
  readonly events = new Map<string, number>();
  /** Runs by case, in the order in which they were learnt of. */
  readonly runs = new Map<number, Set<string>>();
  readonly completed = new Map<number, string>();
  /** Cases that were given up, with the reason. */
  readonly stuck = new Map<number, string>();
  /** Contents of acknowledged memories, by id. */
  readonly memories = new Map<string, string>();
  /** Budgets of runs that spend, by name. */
  readonly budgets = new Map<string, number>();
  /** How often what happened, for the table at the end. */
  readonly counts = new Map<string, number>();
  readonly #file: string;

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    this.#file = join(folder, 'journal.jsonl');
  }

  note(what: string, facts: object): void {
    appendFileSync(this.#file, `${JSON.stringify({ at: new Date().toISOString(), what, ...facts })}\n`);
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  isRunOf(number: number, run_id: string): void {
    const known = this.runs.get(number) ?? new Set();
    if (known.has(run_id)) return;
    this.runs.set(number, known.add(run_id));
    this.note('run', { number, run_id });
  }
}
