import type { DatabaseSync } from 'node:sqlite';
import { type Group, groupAt, keyOf } from './groups.ts';
import { rows } from './statements.ts';
import { nodesInScope, type Scope } from './text-hits.ts';

const mostChanges = 30;

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
     FROM (SELECT rowid AS change, rank FROM change_index WHERE change_index MATCH ? ORDER BY rank LIMIT ${mostChanges}) AS best
     CROSS JOIN changes AS c ON c.change = best.change AND c.at <= ?
     CROSS JOIN changed_files AS f ON f.change = c.change
     CROSS JOIN nodes AS n ON n.repository = c.repository AND n.path = f.path AND n.kind IN ('file', 'document')`,
    match,
    scope.at,
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
  const most = Math.max(Number.MIN_VALUE, ...[...sums.values()].map(({ sum }) => sum));
  for (const [node, { sum, best }] of sums) {
    const row = known.get(node)!;
    const group = groupAt(groups, keyOf(row, false));
    group.whole ??= row;
    const score = (weight * sum) / most;
    group.score += score;
    group.edges.push({ kind: 'changed_by', from: `commit:${best.repository}@${best.commit_id}`, score });
  }
}
