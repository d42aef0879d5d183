/** How late, in milliseconds, the end of a time may be noticed. */
const grainMs = 20;

/**
 * A limit of time that is nearly always kept. All of them share one timer, which looks at every one now and then, so that setting
 * and lifting one, which each call does several times, costs next to nothing.
 */
export class TimeLimit {
  readonly #ms: number;
  readonly #passed: () => void;
  #end: number;

  /** @param passed called once, within 20 ms after `ms` have gone by, unless the limit was lifted */
  constructor(ms: number, passed: () => void) {
    this.#ms = ms;
    this.#passed = passed;
    this.#end = performance.now() + ms;
    running.add(this);
    ticker ??= setInterval(look, grainMs);
  }

  /** The time begins anew. Nothing happens to a limit that has passed or was lifted. */
  renew(): void {
    this.#end = performance.now() + this.#ms;
  }

  lift(): void {
    running.delete(this);
  }

  static look(now: number): void {
    for (const limit of running) {
      if (limit.#end > now) continue;
      running.delete(limit);
      limit.#passed();
    }
  }
}

const running = new Set<TimeLimit>();
let ticker: NodeJS.Timeout | null = null;

function look(): void {
  TimeLimit.look(performance.now());
  if (running.size > 0 || ticker === null) return;
  clearInterval(ticker);
  ticker = null;
}
