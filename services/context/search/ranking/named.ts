import type { DatabaseSync } from 'node:sqlite';
import { namesIn } from '../words/names-in-query.ts';
import { joined } from '../words/path-terms.ts';
import { filesOfTrace } from './named-by-trace.ts';
import { rowsWith } from './statements.ts';
import { inScope, type Named, type NodeRow, nodeColumns, parametersOf, type Scope } from './text-hits.ts';

/** A name that so many have tells nothing where it is one word of many. */
const mostOfPart = 3;
const mostOfWhole = 10;
const mostLookedAt = 200;

/** Those that come before everything that was only found by its text, in their order. */
export function namedIn(db: DatabaseSync, query: string, scope: Scope): Named[] {
  const { whole, parts } = namesIn(query);
  const named = [
    ...filesOfTrace(db, query, scope),
    ...(whole === null ? [] : bearersOf(db, whole, scope, true).slice(0, mostOfWhole)),
    ...parts.flatMap((name) => {
      const bearers = bearersOf(db, name, scope, false);
      return bearers.length > mostOfPart ? [] : bearers;
    }),
  ];
  return [...new Map(named.toReversed().map((one) => [one.row.node, one])).values()].toReversed();
}

function bearersOf(db: DatabaseSync, written: string, scope: Scope, isWhole: boolean): Named[] {
  const name = written.replace(/^(\.{0,2}\/)+/, '').replace(/\/+$/, '');
  if (name === '') return [];
  const found = [...byIndex(db, name, scope, isWhole), ...(isWhole ? withoutText(db, name, scope) : [])];
  const ranked = found
    .map((row) => ({ row, likeness: likeness(row, name) }))
    .filter(({ likeness }) => likeness > 0);
  const best = Math.max(0, ...ranked.map(({ likeness }) => likeness));
  // The very name, where somebody has it; else the same in other letters, or the end of a path.
  return ranked
    .filter(({ likeness }) => likeness === best)
    .map(({ row }) => ({ row, written: written.slice(0, 200) }));
}

function likeness({ id, title, path, kind }: NodeRow, name: string): number {
  if (id === name || path === name || title === name) return 3;
  const lower = name.toLowerCase();
  if (title.toLowerCase() === lower || path?.toLowerCase() === lower) return 2;
  const full = kind === 'repository' ? title : (path ?? '');
  if (name.includes('/') && full.toLowerCase().endsWith(`/${lower}`)) return 1;
  return kind === 'run' && /^(run:)?run_/.test(name) && id.startsWith(`run:${name.replace(/^run:/, '')}`)
    ? 1
    : 0;
}

/** Of files by name or path, of their parts and of what has no path by name. */
function byIndex(db: DatabaseSync, name: string, scope: Scope, isWhole: boolean): NodeRow[] {
  const term = joined(name.split('/').slice(-3).join('/'));
  if (term === '') return [];
  const column = name.includes('/') ? 'path' : 'name';
  return [
    ...matching(db, 'whole_index', `${column} : "${term}"`, scope, isWhole),
    ...matching(db, 'part_index', `name : "${term}"`, scope, isWhole),
  ];
}

/** A word alone is part of many longer names, which come after it; what is more than a word is not. */
function matching(
  db: DatabaseSync,
  table: string,
  match: string,
  scope: Scope,
  shortFirst: boolean,
): NodeRow[] {
  return rowsWith<NodeRow>(
    db,
    `SELECT ${nodeColumns} FROM ${table} AS t CROSS JOIN nodes AS n ON n.node = t.rowid
     WHERE ${table} MATCH :match AND ${inScope} ${shortFirst ? 'ORDER BY t.rank' : ''} LIMIT ${mostLookedAt}`,
    { ...parametersOf(scope), match },
  );
}

/** By path and by id, which no index of texts has. */
function withoutText(db: DatabaseSync, name: string, scope: Scope): NodeRow[] {
  const id = name.replace(/^run:/, '');
  return rowsWith<NodeRow>(
    db,
    `SELECT ${nodeColumns} FROM nodes AS n
     WHERE n.id IN (:name, 'agent:' || :name, 'service:' || :name, 'procedure:' || :name, 'repo:' || :name) AND ${inScope}
     UNION
     SELECT ${nodeColumns} FROM nodes AS n WHERE n.id >= 'run:' || :run AND n.id < 'run:' || :run || '~'
       AND length(:run) >= 12 AND ${inScope}
     UNION
     SELECT ${nodeColumns} FROM nodes AS n WHERE n.kind = 'repository' AND n.title LIKE '%/' || :name AND ${inScope}
     UNION
     SELECT ${nodeColumns} FROM nodes AS r CROSS JOIN nodes AS n ON n.repository = r.repository AND n.path = :name
     WHERE r.kind = 'repository' AND n.kind = 'directory' AND ${inScope}
     LIMIT ${mostLookedAt}`,
    { ...parametersOf(scope), name, run: id },
  );
}
