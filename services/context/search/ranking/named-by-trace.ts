import type { DatabaseSync } from 'node:sqlite';
import { joined } from '../words/path-terms.ts';
import { type Frame, framesOf } from '../words/stack-frames.ts';
import { rowsWith } from './statements.ts';
import { inScope, type Named, type NodeRow, nodeColumns, parametersOf, type Scope } from './text-hits.ts';

/** Where packages lie. What is there belongs to a repository that has the package's name. */
const ofPackages =
  /(?:^|\/)(?:node_modules|site-packages|dist-packages|vendor|gems|pkg\/mod|\.cargo\/registry|rustc)\/(?!.*\/(?:node_modules|vendor)\/)(.*)/;

const mostLookedAt = 200;
const mostAlike = 5;

/** The files of a stack trace that are known here, the one called last first, each by the part that has the line. */
export function filesOfTrace(db: DatabaseSync, query: string, scope: Scope): Named[] {
  return framesOf(query).flatMap((frame) =>
    filesOf(db, frame, scope).flatMap(({ repository, path }) => {
      const row = placeIn(db, repository!, path!, frame.line, scope);
      return row === undefined ? [] : [{ row, written: frame.written.slice(0, 200) }];
    }),
  );
}

/** The files whose paths end as the frame's does, for the longest; none where many do. */
function filesOf(db: DatabaseSync, { names }: Frame, scope: Scope): NodeRow[] {
  const packaged = ofPackages.exec(names.join('/'))?.[1]?.split('/') ?? null;
  const isHere = ({ repository }: NodeRow, common: number) =>
    packaged === null ||
    common > packaged.length ||
    packaged.some((name) => nameOf(name) === nameOf(repository!));
  for (let count = Math.min(3, names.length); count > 0; count--) {
    const term = joined(names.slice(-count).join('/'));
    const found = term === '' ? [] : filesNamed(db, term, scope);
    const rated = found.map((row) => ({ row, common: commonEnd(row.path!.split('/'), names) }));
    const good = rated.filter(({ row, common }) => {
      const isWhole = common === row.path!.split('/').length || common === names.length;
      return isHere(row, common) && (common >= 2 || (isWhole && common === 1));
    });
    if (good.length === 0) continue;
    const most = Math.max(...good.map(({ common }) => common));
    const best = good.filter(({ common }) => common === most);
    return best.length > mostAlike ? [] : best.map(({ row }) => row);
  }
  return [];
}

/** Of a package or repository, without owner and version: `local/demo/hello` and `hello@1.2.0` are `hello`. */
function nameOf(text: string): string {
  return text
    .split('/')
    .at(-1)!
    .replace(/[@-]v?\d.*$/, '')
    .toLowerCase()
    .replaceAll('_', '-');
}

function filesNamed(db: DatabaseSync, term: string, scope: Scope): NodeRow[] {
  return rowsWith<NodeRow>(
    db,
    `SELECT ${nodeColumns} FROM whole_index AS t CROSS JOIN nodes AS n ON n.node = t.rowid
     WHERE whole_index MATCH :match AND ${inScope} LIMIT ${mostLookedAt}`,
    { ...parametersOf({ ...scope, kinds: null }), match: `path : "${term}"` },
  );
}

function commonEnd(one: readonly string[], other: readonly string[]): number {
  let common = 0;
  while (common < one.length && common < other.length && one.at(-1 - common) === other.at(-1 - common))
    common++;
  return common;
}

/** The smallest of what may be found that has the line; else the file. */
function placeIn(
  db: DatabaseSync,
  repository: string,
  path: string,
  line: number,
  scope: Scope,
): NodeRow | undefined {
  const [found] = rowsWith<NodeRow>(
    db,
    `SELECT ${nodeColumns} FROM nodes AS n WHERE n.repository = :repository AND n.path = :path AND ${inScope}
       AND (n.kind IN ('file', 'document') OR (n.start_line <= :line AND n.end_line >= :line))
     ORDER BY n.kind IN ('file', 'document'), n.end_line - n.start_line, n.node LIMIT 1`,
    { ...parametersOf(scope), repository, path, line },
  );
  return found;
}
