import type { DatabaseSync } from 'node:sqlite';
import { type Frame, framesOf } from '../words/stack-frames.ts';
import { joined, partsOf } from '../words/words.ts';
import {
  inScope,
  type Named,
  type NodeRow,
  nodeColumns,
  parametersOf,
  rows,
  type Scope,
} from './text-hits.ts';

/** Bearers of a name up to which it says something, as one word of many. */
const maxOfPart = 3;
const maxOfWhole = 10;
const maxLookedAt = 200;

/** Those that come before everything that was only found by its text, in their order. */
export function namedIn(db: DatabaseSync, query: string, scope: Scope): Named[] {
  const { whole, parts } = namesIn(query);
  const named = [
    ...filesOfTrace(db, query, scope),
    ...(whole === null ? [] : bearersOf(db, whole, scope, true).slice(0, maxOfWhole)),
    ...parts.flatMap((name) => {
      const bearers = bearersOf(db, name, scope, false);
      return bearers.length > maxOfPart ? [] : bearers;
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
  return rows<NodeRow>(
    db,
    `SELECT ${nodeColumns} FROM ${table} AS t CROSS JOIN nodes AS n ON n.node = t.rowid
     WHERE ${table} MATCH :match AND ${inScope} ${shortFirst ? 'ORDER BY t.rank' : ''} LIMIT ${maxLookedAt}`,
    { ...parametersOf(scope), match },
  );
}

/** By path and by id, which no index of texts has. */
function withoutText(db: DatabaseSync, name: string, scope: Scope): NodeRow[] {
  const id = name.replace(/^run:/, '');
  return rows<NodeRow>(
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
     LIMIT ${maxLookedAt}`,
    { ...parametersOf(scope), name, run: id },
  );
}

/** Where packages lie. What is there belongs to a repository that has the package's name. */
const ofPackages =
  /(?:^|\/)(?:node_modules|site-packages|dist-packages|vendor|gems|pkg\/mod|\.cargo\/registry|rustc)\/(?!.*\/(?:node_modules|vendor)\/)(.*)/;

const maxAlike = 5;

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
    const max = Math.max(...good.map(({ common }) => common));
    const best = good.filter(({ common }) => common === max);
    return best.length > maxAlike ? [] : best.map(({ row }) => row);
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
  return rows<NodeRow>(
    db,
    `SELECT ${nodeColumns} FROM whole_index AS t CROSS JOIN nodes AS n ON n.node = t.rowid
     WHERE whole_index MATCH :match AND ${inScope} LIMIT ${maxLookedAt}`,
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
  const [found] = rows<NodeRow>(
    db,
    `SELECT ${nodeColumns} FROM nodes AS n WHERE n.repository = :repository AND n.path = :path AND ${inScope}
       AND (n.kind IN ('file', 'document') OR (n.start_line <= :line AND n.end_line >= :line))
     ORDER BY n.kind IN ('file', 'document'), n.end_line - n.start_line, n.node LIMIT 1`,
    { ...parametersOf(scope), repository, path, line },
  );
  return found;
}

/** What of a query can be a whole title or path. */
export interface NamesInQuery {
  /** All of it; null where it is too long for a name. */
  readonly whole: string | null;
  /** Paths, file names and identifiers among its words; none of a long text, which names much in passing. */
  readonly parts: readonly string[];
}

const maxNameLength = 300;
const maxWords = 12;

export function namesIn(query: string): NamesInQuery {
  const text = query.normalize('NFKC').trim();
  const words = text.split(/\s+/, maxWords + 1);
  const whole = text.length <= maxNameLength && !text.includes('\n') ? bare(text) : null;
  if (words.length > maxWords || text.length > maxWords * maxNameLength) return { whole, parts: [] };
  const parts = words.filter((word) => isName(word)).map(bare);
  return { whole, parts: [...new Set(parts)].filter((part) => part !== whole && part !== '') };
}

/** Written as nobody writes a word: with a file's ending, folders, or parts; or marked as code. */
function isName(word: string): boolean {
  const name = bare(word);
  if (name.length < 4 || name.length > maxNameLength || /:\/\//.test(name)) return false;
  if (/^`[^`]+`[,.;:]?$/.test(word)) return true;
  if (/^[^/]+\.[A-Za-z]\w{0,7}$/.test(name) || /^[\w.@-]+(\/[\w.@-]+)+$/.test(name)) return true;
  return (
    /^[\w$.#]+$/.test(name) && partsOf(name).length > 1 && !/^\d/.test(name) && !/^[A-Z][a-z]+\.$/.test(name)
  );
}

/** Without quotes around it and what ends a sentence. */
function bare(text: string): string {
  return text.replace(/^[`'"(<\s]{1,10}|[`'")>\s,;:.?!]{1,10}$/g, '');
}
