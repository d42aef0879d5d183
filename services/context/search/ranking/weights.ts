/**
 * How the parts of a score are weighed, as test/bench/retrieval measured it. What was measured and left out, because it gave nothing or
 * did harm: pairs of words as one identifier, pieces of 20 to 80 lines beside the symbols, how often a file changed, sums over
 * edges instead of the most of one, and more of an edge than this.
 */
export interface Weights {
  /** Files with a term of the query, in all, up to which a term is enough to be found, the rarest first. */
  readonly matches: number;
  /** Of a word in a file's name, its path and its text, in `whole_index`. */
  readonly whole: readonly [name: number, path: number, body: number];
  /** Of a word in the name of a part and in its text, in `part_index`. */
  readonly part: readonly [name: number, body: number];
  /** What the parts of a file count beside the file as a whole, whose weight is 1. */
  readonly parts: number;
  /** What each further part of a file counts of the one before it. */
  readonly furtherPart: number;
  /** What similar changes of the past count, beside all text, whose weight is 1. */
  readonly history: number;
  /** What an edge from a better result passes on of its score. */
  readonly edges: Readonly<Record<string, number>>;
}

export const weights: Weights = {
  matches: 300,
  whole: [16, 8, 1],
  part: [4, 1],
  parts: 1,
  furtherPart: 0.4,
  history: 0.4,
  edges: { imports: 0.05, changed_with: 0.1, references: 0.05, mentions: 0.05 },
};
