const perMillisecond = 1024;

/** Ids that begin with the millisecond and rise, also when the clock goes back. A whole number below 2 ** 53. */
export class CallIds {
  #last: number;
  readonly #now: () => number;

  /** @param last the highest id that is taken */
  constructor(last: number, now: () => number) {
    this.#last = last;
    this.#now = now;
  }

  next(): number {
    this.#last = Math.max(this.#last + 1, this.#now() * perMillisecond);
    return this.#last;
  }

  /** Lower than every id to come. */
  get last(): number {
    return this.#last;
  }
}

/** Milliseconds since the epoch. */
export function timeOfCall(id: number): number {
  return Math.floor(id / perMillisecond);
}

export function firstCallOf(milliseconds: number): number {
  return milliseconds * perMillisecond;
}

const dayMs = 86_400_000;
let lastDay = { number: Number.NaN, name: '' };

/** In UTC, as YYYY-MM-DD. */
export function dayOf(milliseconds: number): string {
  const number = Math.floor(milliseconds / dayMs);
  if (number !== lastDay.number) {
    lastDay = { number, name: new Date(milliseconds).toISOString().slice(0, 10) };
  }
  return lastDay.name;
}
