import type { DatabaseSync } from 'node:sqlite';
import { prepared } from '../../record/prepared.ts';
import { type Group, groupAt, keyOf, type PassedOn } from './groups.ts';
import { inScope, type NodeRow, nodeColumns, parametersOf, type Scope } from './text-hits.ts';

const mostSeeds = 10;
const mostEdgesOfSeed = 60;

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
  const seeds = [...groups.values()].toSorted((a, b) => b.score - a.score).slice(0, mostSeeds);
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
  return prepared(
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
     ORDER BY e.weight DESC LIMIT ${mostEdgesOfSeed}`,
  ).all({
    ...parametersOf(scope),
    nodes: JSON.stringify(nodes),
    relations: JSON.stringify(kinds),
  }) as unknown as Neighbour[];
}

function idOf(group: Group): string {
  return (group.whole ?? group.parts[0]!.row).id;
}
