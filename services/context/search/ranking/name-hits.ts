import type { DatabaseSync } from 'node:sqlite';
import { addPathTerms } from '../words/path-terms.ts';
import { queryTerms } from '../words/query-terms.ts';
import type { Terms } from '../words/words.ts';
import { rowsWith } from './statements.ts';
import { type Hit, inScope, type NodeRow, nodeColumns, parametersOf, type Scope } from './text-hits.ts';

/** What has a name and no text of its own. */
const nameless = ['repository', 'directory', 'agent', 'service', 'artifact'];
const mostRead = 50_000;
const mostHits = 200;

/** Of kinds that are not in the index of texts, where they are asked for: by the words of their names. */
export function nameHits(db: DatabaseSync, query: string, scope: Scope, best: number): Hit[] {
  const kinds = (scope.kinds ?? []).filter((kind) => nameless.includes(kind));
  if (kinds.length === 0) return [];
  const terms = queryTerms(query);
  const named = rowsWith<NodeRow>(
    db,
    `SELECT ${nodeColumns} FROM nodes AS n WHERE n.kind IN (SELECT value FROM json_each(:kinds)) AND ${inScope}
     LIMIT ${mostRead}`,
    parametersOf({ ...scope, kinds }),
  ).map((row) => ({ row, names: namesOf(row) }));
  const counts = terms.map(({ term }) => named.filter(({ names }) => names.has(term)).length);
  const hits = named.flatMap(({ row, names }): Hit[] => {
    const score = terms.reduce(
      (sum, { term, weight }, nth) =>
        names.has(term) ? sum + weight * Math.log1p(named.length / counts[nth]!) : sum,
      0,
    );
    return score === 0 ? [] : [{ row, score: score / Math.sqrt(names.size) }];
  });
  const most = Math.max(Number.MIN_VALUE, ...hits.map(({ score }) => score));
  return hits
    .map(({ row, score }) => ({ row, score: (best * score) / most }))
    .toSorted((a, b) => b.score - a.score)
    .slice(0, mostHits);
}

function namesOf({ title, path }: NodeRow): Terms {
  const names: Terms = new Map();
  addPathTerms(title, names);
  if (path !== null) addPathTerms(path, names);
  return names;
}
