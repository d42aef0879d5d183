/** So many places for work at once, in the order of asking. Who must be alone takes all of them. */
export class Slots {
  readonly places: number;
  #free: number;
  readonly #waiting: { readonly weight: number; readonly enter: () => void }[] = [];

  constructor(places: number) {
    this.places = places;
    this.#free = places;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  async run<T>(weight: number, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((enter) => {
      this.#waiting.push({ weight, enter });
      this.#admit();
    });
    try {
      return await work();
    } finally {
      this.#free += weight;
      this.#admit();
    }
  }

  #admit(): void {
    while (this.#waiting.length > 0 && this.#waiting[0]!.weight <= this.#free) {
      const { weight, enter } = this.#waiting.shift()!;
      this.#free -= weight;
      enter();
    }
  }
}
