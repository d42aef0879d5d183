import type { Properties } from './changes.ts';

/** How many things there are and a sum over their contents in which their order does not matter. */
export interface Digest {
  readonly count: number;
  /** Hexadecimal. */
  readonly sum: string;
}

/** By label for nodes, by type for edges. */
export interface GraphDigests {
  readonly nodes: Readonly<Record<string, Digest>>;
  readonly edges: Readonly<Record<string, Digest>>;
}

const modulus = 2n ** 64n;

export class DigestSums {
  readonly #sums = new Map<string, { count: number; sum: bigint }>();
  /** Loaded where graphs are compared: a thread that reads takes longer to load it than all else. */
  readonly #createHash = process.getBuiltinModule('node:crypto').createHash;

  addNode(label: string, properties: Properties): void {
    this.#add(label, ordered(properties));
  }

  addEdge(type: string, from: string, to: string, properties: Properties): void {
    this.#add(type, [from, to, ...ordered(properties)]);
  }

  result(): Record<string, Digest> {
    const sorted = [...this.#sums].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(
      sorted.map(([name, { count, sum }]) => [name, { count, sum: sum.toString(16).padStart(16, '0') }]),
    );
  }

  #add(name: string, content: readonly unknown[]): void {
    const hash = this.#createHash('sha256').update(JSON.stringify(content)).digest().readBigUInt64BE();
    const before = this.#sums.get(name) ?? { count: 0, sum: 0n };
    this.#sums.set(name, { count: before.count + 1, sum: (before.sum + hash) % modulus });
  }
}

function ordered(properties: Properties): unknown[] {
  return Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1));
}
