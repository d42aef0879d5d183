/** What a benchmark says: never a time, always how the subject compares with a yardstick measured in the same run. */
export interface Comparison {
  readonly subject: string;
  readonly yardstick: string;
  /** Of the subject's samples to the yardstick's. */
  readonly measure: 'time' | 'rate' | 'memory';
  /** For a rate at least, for all else at most. */
  readonly bar: number;
  readonly ratio: number;
  /** The middle half of the ratios of single rounds. */
  readonly spread: readonly [low: number, high: number];
  readonly rounds: number;
}

export interface Benchmark {
  readonly summary: string;
  /** Leaves nothing behind but in `folder`, which is empty and removed afterwards. */
  run(folder: string): Promise<readonly Comparison[]>;
}

/** One turn of something to measure: prepares what must not be counted, and gives back what is counted. */
export type Turn = (round: number) => number | Promise<number>;

/**
 * Lets everybody take turns, in another order each round, so that a slow moment of the machine meets all of them. The first
 * round warms up and does not count.
 */
export async function takeTurns<Name extends string>(
  rounds: number,
  turns: Readonly<Record<Name, Turn>>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(turns) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
  for (let round = 0; round <= rounds; round++) {
    const order = round % 2 === 0 ? names : names.toReversed();
    for (const name of order) {
      const sample = await turns[name](round);
      if (round > 0) samples[name].push(sample);
    }
  }
  return samples;
}

export function compare(
  what: Pick<Comparison, 'subject' | 'yardstick' | 'measure' | 'bar'>,
  subject: readonly number[],
  yardstick: readonly number[],
): Comparison {
  const single = subject.map((sample, round) => sample / yardstick[round]!);
  return {
    ...what,
    ratio: quantile(subject, 0.5) / quantile(yardstick, 0.5),
    spread: [quantile(single, 0.25), quantile(single, 0.75)],
    rounds: subject.length,
  };
}

export function isMet({ measure, ratio, bar }: Comparison): boolean {
  return measure === 'rate' ? ratio >= bar : ratio <= bar;
}

function quantile(samples: readonly number[], part: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)]!;
  return below + (sorted[Math.ceil(at)]! - below) * (at % 1);
}
