import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Span } from '../fixtures/history/history.ts';

/** When something was asked for, and when it was acknowledged. */
export interface Acknowledged {
  readonly span: Span;
}

/** That a host answered with 200. */
interface Approval extends Acknowledged {
  readonly run_id: string;
  readonly action_id: string;
}

interface AcceptedEvent extends Acknowledged {
  /** The case. */
  readonly number: number;
}

interface RecordedMemory extends Acknowledged {
  readonly content: string;
}

/** What the clients of a trial know: what was acknowledged to them, and how each case stands. */
export class Journal {
  readonly approvals: Approval[] = [];
  /** By id. */
  readonly events = new Map<string, AcceptedEvent>();
  /** Runs by case, in the order in which they were learnt of. */
  readonly runs = new Map<number, Set<string>>();
  readonly completed = new Map<number, string>();
  /** Cases that were given up, with the reason. */
  readonly stuck = new Map<number, string>();
  /** By id. */
  readonly memories = new Map<string, RecordedMemory>();
  /** Budgets of runs that spend, by name. */
  readonly budgets = new Map<string, number>();
  readonly #lost = new Map<string, Set<string>>();
  /** What is under way, and since when. */
  readonly #doing = new Map<string, string>();
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

  /** @param what null where it is over */
  does(who: string, what: string | null): void {
    if (what === null) this.#doing.delete(who);
    else this.#doing.set(who, `${what} since ${new Date().toISOString()}`);
  }

  get underWay(): string[] {
    return [...this.#doing].map(([who, what]) => `${who}: ${what}`);
  }

  /** Something that a fail-over was allowed to lose, and did. */
  lost(kind: string, id: string): void {
    const ids = this.#lost.get(kind) ?? new Set();
    this.#lost.set(kind, ids.add(id));
    this.counts.set(`lost with a fail-over: ${kind}`, ids.size);
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
