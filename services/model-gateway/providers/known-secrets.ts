import { Mask } from './mask.ts';

/** Of each credential: what was changed more often is no key in use any more. */
const mostOfEach = 4;

/** The values that credentials have and had since the start. Any upstream may send back any of them. */
export class KnownSecrets {
  readonly #byName = new Map<string, string[]>();
  #mask = new Mask([]);

  learn(name: string, value: string): void {
    const values = this.#byName.get(name) ?? [];
    if (values.includes(value)) return;
    this.#byName.set(name, [...values, value].slice(-mostOfEach));
    this.#mask = new Mask([...new Set([...this.#byName.values()].flat())]);
  }

  /** Another one whenever a value was learned. */
  get mask(): Mask {
    return this.#mask;
  }
}
