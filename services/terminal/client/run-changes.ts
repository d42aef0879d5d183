import type { RunSummary } from '#kit/contracts/run.ts';

/** Milliseconds: a list of thousands is arranged anew at most so often. */
const togetherMs = 100;

/** News of runs, told together: of each run only the last. */
export class RunChanges {
  readonly #tell: (runs: readonly RunSummary[]) => void;
  readonly #changed = new Map<string, RunSummary>();
  #timer: NodeJS.Timeout | undefined;

  constructor(tell: (runs: readonly RunSummary[]) => void) {
    this.#tell = tell;
  }

  add(run: RunSummary): void {
    this.#changed.set(run.run_id, run);
    this.#timer ??= setTimeout(() => this.flush(), togetherMs);
  }

  /** Tells at once what there is. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#changed.size === 0) return;
    const runs = [...this.#changed.values()];
    this.#changed.clear();
    this.#tell(runs);
  }
}
