import type { Hit, NodeRow } from './text-hits.ts';
import type { Weights } from './weights.ts';

/**
 * What becomes one result: a file with its parts, or a node without a path. Scores of text are shares of the best of their
 * kind, 0 to 1.
 */
export interface Group {
  readonly key: string;
  whole: NodeRow | null;
  wholeScore: number;
  /** Best first. */
  readonly parts: Hit[];
  /** What its own text gives. */
  text: number;
  /** `text` and what other results pass on. */
  score: number;
  readonly edges: PassedOn[];
}

/** What a result got over an edge from another, or from a change of the past. */
export interface PassedOn {
  readonly kind: string;
  /** Id of the node at the other end. */
  readonly from: string;
  readonly score: number;
}

/** Files count as one with their parts; with `apart` every node is a result of its own. */
export function keyOf(row: NodeRow, apart: boolean): string {
  return row.path === null || apart ? row.id : `${row.repository ?? ''}\0${row.path}`;
}

export function groupsOf(
  wholes: readonly Hit[],
  parts: readonly Hit[],
  apart: boolean,
  weights: Weights,
): Map<string, Group> {
  const groups = new Map<string, Group>();
  const bestWhole = wholes[0]?.score ?? 1;
  for (const { row, score } of wholes) {
    const group = groupAt(groups, keyOf(row, apart));
    group.whole = row;
    group.wholeScore = score / bestWhole;
  }
  for (const hit of parts) groupAt(groups, keyOf(hit.row, apart)).parts.push(hit);
  scoreText([...groups.values()], weights);
  return groups;
}

export function groupAt(groups: Map<string, Group>, key: string): Group {
  const found = groups.get(key);
  if (found !== undefined) return found;
  const group = { key, whole: null, wholeScore: 0, parts: [], text: 0, score: 0, edges: [] };
  groups.set(key, group);
  return group;
}

/** The whole and the parts of a file, added; what has no whole is rated by its parts alone. */
function scoreText(groups: readonly Group[], weights: Weights): void {
  const partScores = groups.map(({ parts }) => sumOfParts(parts, weights.furtherPart));
  const bestParts = Math.max(Number.MIN_VALUE, ...partScores);
  for (const [index, group] of groups.entries()) {
    const parts = partScores[index]! / bestParts;
    const isAlone = group.whole === null && group.parts[0]?.row.path === null;
    group.text = (isAlone ? parts : group.wholeScore) + weights.parts * parts;
  }
  const best = Math.max(Number.MIN_VALUE, ...groups.map(({ text }) => text));
  for (const group of groups) {
    group.text /= best;
    group.score = group.text;
  }
}

const mostSummed = 5;

function sumOfParts(parts: readonly Hit[], further: number): number {
  return parts.slice(0, mostSummed).reduce((sum, { score }, nth) => sum + score * further ** nth, 0);
}
