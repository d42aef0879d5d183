/**
 * Which memories have a band, the newest first, in memory alone: 20 bytes for each band of each. Chains in typed arrays, so that a
 * million entries are no objects. It may name a memory that is gone or never came to be: who asks looks at its text.
 */
export class BandIndex {
  #size = 0;
  #bands = new Float64Array(first);
  #memories = new Uint32Array(first);
  /** The entry before it in its chain, plus 1; 0 at the end. */
  #before = new Uint32Array(first);
  /** The newest entry of each chain, plus 1. */
  #heads = new Uint32Array(first);

  /** Memories come in ascending order. */
  add(band: number, memory: number): void {
    if (this.#size === this.#bands.length) this.#grow();
    const entry = this.#size++;
    this.#bands[entry] = band;
    this.#memories[entry] = memory;
    this.#chain(entry);
  }

  /** Adds to `found` the newest memories of a band, at most so many. */
  collect(band: number, most: number, found: Set<number>): void {
    let left = most;
    for (let entry = this.#heads[this.#place(band)]!; entry !== 0 && left > 0; ) {
      if (this.#bands[entry - 1] === band) {
        found.add(this.#memories[entry - 1]!);
        left--;
      }
      entry = this.#before[entry - 1]!;
    }
  }

  #chain(entry: number): void {
    const place = this.#place(this.#bands[entry]!);
    this.#before[entry] = this.#heads[place]!;
    this.#heads[place] = entry + 1;
  }

  /** Bands are hashes: their lowest bits are as good as any. */
  #place(band: number): number {
    return band % this.#heads.length;
  }

  #grow(): void {
    const length = this.#bands.length * 2;
    this.#bands = copied(new Float64Array(length), this.#bands);
    this.#memories = copied(new Uint32Array(length), this.#memories);
    this.#before = new Uint32Array(length);
    this.#heads = new Uint32Array(length);
    for (let entry = 0; entry < this.#size; entry++) this.#chain(entry);
  }
}

const first = 1_024;

function copied<A extends Float64Array | Uint32Array>(target: A, source: A): A {
  target.set(source);
  return target;
}
