import { randomNumbers } from '../../fixtures/random-numbers.ts';

/** How well a list of paths answers a question. */
export interface Measures {
  /** One by the place of the first right answer; 0 where there is none. */
  readonly reciprocalRank: number;
  /** Share of the answers among the first 5, 10 and 20. */
  readonly recall: readonly [at5: number, at10: number, at20: number];
}

export function measure(paths: readonly string[], answers: readonly string[]): Measures {
  const right = new Set(answers);
  const first = paths.findIndex((path) => right.has(path));
  const recallAt = (count: number) =>
    paths.slice(0, count).filter((path) => right.has(path)).length / right.size;
  return {
    reciprocalRank: first < 0 ? 0 : 1 / (first + 1),
    recall: [recallAt(5), recallAt(10), recallAt(20)],
  };
}

export interface Summary {
  readonly mrr: number;
  readonly recall: readonly [at5: number, at10: number, at20: number];
}

export function summaryOf(measures: readonly Measures[]): Summary {
  return {
    mrr: mean(measures.map(({ reciprocalRank }) => reciprocalRank)),
    recall: [0, 1, 2].map((at) => mean(measures.map(({ recall }) => recall[at]!))) as [
      number,
      number,
      number,
    ],
  };
}

export interface Difference {
  /** Of the mean reciprocal ranks. */
  readonly mrr: number;
  /** By the other's mean reciprocal rank. */
  readonly relative: number;
  /** Of `mrr`, 95 %. */
  readonly interval: readonly [low: number, high: number];
}

const resamples = 10_000;

/**
 * How much better one method does than another on the same questions, with the percentile interval of a paired bootstrap
 * (B. Efron, R. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13). The same measures give the same interval.
 */
export function difference(of: readonly Measures[], than: readonly Measures[]): Difference {
  const single = of.map(({ reciprocalRank }, at) => reciprocalRank - than[at]!.reciprocalRank);
  const random = randomNumbers(1);
  const means = Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let draw = 0; draw < single.length; draw++) sum += single[Math.floor(random() * single.length)]!;
    return sum / single.length;
  }).sort((a, b) => a - b);
  const mrr = mean(single);
  return {
    mrr,
    relative: mrr / mean(than.map(({ reciprocalRank }) => reciprocalRank)),
    interval: [means[Math.floor(resamples * 0.025)]!, means[Math.ceil(resamples * 0.975) - 1]!],
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
