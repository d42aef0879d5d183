import type { Hit, Named, NodeRow } from './text-hits.ts';
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
  /** What the query named of it; null where its words alone found it. */
  named: Named | null;
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
  const group = { key, whole: null, wholeScore: 0, parts: [], text: 0, score: 0, edges: [], named: null };
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

/** Puts what was named before all others, in its order, and all of them above half of the best score. */
export function putFirst(groups: Map<string, Group>, named: readonly Named[], apart: boolean): void {
  const most = Math.max(Number.MIN_VALUE, ...[...groups.values()].map(({ score }) => score));
  const first: Group[] = [];
  for (const one of named) {
    const group = groupAt(groups, keyOf(one.row, apart));
    if (group.named !== null) continue;
    group.named = one;
    first.push(group);
  }
  for (const [nth, group] of first.entries()) group.score = most * (2 - nth / first.length);
}

const mostSummed = 5;

function sumOfParts(parts: readonly Hit[], further: number): number {
  return parts.slice(0, mostSummed).reduce((sum, { score }, nth) => sum + score * further ** nth, 0);
}
