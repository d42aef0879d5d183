import type { DatabaseSync } from 'node:sqlite';
import {
  type Hit,
  inScope,
  type Named,
  type NodeRow,
  nodeColumns,
  nodesInScope,
  parametersOf,
  rows,
  type Scope,
  type Weights,
} from './text-hits.ts';

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

/** The whole, or else its best part. */
export function rowOf({ whole, parts }: Group): NodeRow | null {
  return whole ?? parts[0]?.row ?? null;
}

/** Everything that a result got so far, times a factor. */
export function scale(group: Group, factor: number): void {
  group.text *= factor;
  group.score *= factor;
  for (const [nth, edge] of group.edges.entries()) group.edges[nth] = { ...edge, score: edge.score * factor };
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
  const max = Math.max(Number.MIN_VALUE, ...[...groups.values()].map(({ score }) => score));
  const first: Group[] = [];
  for (const one of named) {
    const group = groupAt(groups, keyOf(one.row, apart));
    if (group.named !== null) continue;
    group.named = one;
    first.push(group);
  }
  for (const [nth, group] of first.entries()) group.score = max * (2 - nth / first.length);
}

const maxSummed = 5;

function sumOfParts(parts: readonly Hit[], further: number): number {
  return parts.slice(0, maxSummed).reduce((sum, { score }, nth) => sum + score * further ** nth, 0);
}

const maxChanges = 30;

interface TouchedFile {
  readonly change: number;
  readonly commit_id: string;
  readonly repository: string;
  readonly files: number;
  readonly rank: number;
  readonly node: number;
}

/**
 * What changes of the past that were described in like words touched. Each change shares its BM25 among its files, by the square
 * root of their number: a change of forty files says little of any of them.
 */
export function addPastChanges(
  db: DatabaseSync,
  match: string,
  scope: Scope,
  groups: Map<string, Group>,
  weight: number,
): void {
  const touched = rows<TouchedFile>(
    db,
    `SELECT c.change, c.commit_id, c.repository, c.files, best.rank, n.node
     FROM (
       SELECT i.rowid AS change, i.rank FROM change_index AS i CROSS JOIN changes AS own ON own.change = i.rowid
       WHERE change_index MATCH :match AND own.at <= :at
         AND (:repositories IS NULL OR own.repository IN (SELECT value FROM json_each(:repositories)))
       ORDER BY i.rank LIMIT ${maxChanges}
     ) AS best
     CROSS JOIN changes AS c ON c.change = best.change
     CROSS JOIN changed_files AS f ON f.change = c.change
     CROSS JOIN nodes AS n ON n.repository = c.repository AND n.path = f.path AND n.kind IN ('file', 'document')`,
    { match, at: scope.at, repositories: parametersOf(scope).repositories },
  );
  if (touched.length === 0) return;
  const known = nodesInScope(
    db,
    touched.map(({ node }) => node),
    scope,
  );
  const sums = new Map<number, { sum: number; best: TouchedFile; bestShare: number }>();
  for (const file of touched) {
    if (!known.has(file.node)) continue;
    const share = -file.rank / Math.sqrt(file.files);
    const entry = sums.get(file.node) ?? { sum: 0, best: file, bestShare: 0 };
    entry.sum += share;
    if (share > entry.bestShare) Object.assign(entry, { best: file, bestShare: share });
    sums.set(file.node, entry);
  }
  const max = Math.max(Number.MIN_VALUE, ...[...sums.values()].map(({ sum }) => sum));
  for (const [node, { sum, best }] of sums) {
    const row = known.get(node)!;
    const group = groupAt(groups, keyOf(row, false));
    group.whole ??= row;
    const score = (weight * sum) / max;
    group.score += score;
    group.edges.push({ kind: 'changed_by', from: `commit:${best.repository}@${best.commit_id}`, score });
  }
}

const maxSeeds = 10;
const maxEdgesOfSeed = 60;

type Neighbour = NodeRow & { readonly relation: string; readonly weight: number };

/**
 * Passes part of the best results' scores on to what they are joined with in the graph. A result gets the most that any one
 * neighbour passes on, not the sum: what everything is joined with is not what was asked for.
 */
export function expand(
  db: DatabaseSync,
  scope: Scope,
  groups: Map<string, Group>,
  shares: Readonly<Record<string, number>>,
): void {
  const seeds = [...groups.values()].toSorted((a, b) => b.score - a.score).slice(0, maxSeeds);
  const gains = new Map<string, { row: NodeRow; passed: PassedOn }>();
  for (const seed of seeds) {
    for (const row of neighboursOf(db, scope, seed, Object.keys(shares))) {
      const key = keyOf(row, false);
      if (key === seed.key) continue;
      const score = seed.score * shares[row.relation]! * Math.min(1, row.weight);
      if (score <= (gains.get(key)?.passed.score ?? 0)) continue;
      gains.set(key, { row, passed: { kind: row.relation, from: idOf(seed), score } });
    }
  }
  for (const [key, { row, passed }] of gains) {
    const group = groupAt(groups, key);
    if (group.whole === null && group.parts.length === 0) group.whole = row;
    group.score += passed.score;
    group.edges.push(passed);
  }
}

/** By both directions, the heaviest first. */
function neighboursOf(db: DatabaseSync, scope: Scope, seed: Group, kinds: readonly string[]): Neighbour[] {
  const nodes = [seed.whole, seed.parts[0]?.row].flatMap((row) => (row ? [row.node] : []));
  return rows<Neighbour>(
    db,
    `SELECT ${nodeColumns}, e.relation, e.weight FROM (
       SELECT to_node AS node, kind AS relation, weight, valid_to FROM edges
       WHERE from_node IN (SELECT value FROM json_each(:nodes)) AND type = 'CORE_RELATION'
         AND kind IN (SELECT value FROM json_each(:relations)) AND valid_from <= :at
       UNION ALL
       SELECT from_node, kind, weight, valid_to FROM edges
       WHERE to_node IN (SELECT value FROM json_each(:nodes)) AND type = 'CORE_RELATION'
         AND kind IN (SELECT value FROM json_each(:relations)) AND valid_from <= :at
     ) AS e CROSS JOIN nodes AS n ON n.node = e.node
     WHERE (e.valid_to IS NULL OR e.valid_to > :at) AND ${inScope}
     ORDER BY e.weight DESC LIMIT ${maxEdgesOfSeed}`,
    { ...parametersOf(scope), nodes: JSON.stringify(nodes), relations: JSON.stringify(kinds) },
  );
}

function idOf(group: Group): string {
  return (group.whole ?? group.parts[0]!.row).id;
}
