import { unfinishedRestoreName } from '#kit/folders.ts';
import type { LeftOut } from './manifest.ts';

/** What of the state folder is not in a backup; paths below it. */
export interface LeftOutFolder {
  readonly path: string;
  readonly why: string;
}

export const mirrors: LeftOutFolder = {
  path: 'mirrors',
  why: 'fetched again from the forges (--with-mirrors takes them along, for base commits that a forge has lost)',
};

/** Made again by those who use them. */
export const disposable: readonly LeftOutFolder[] = [
  { path: 'clones', why: 'built again from the record of each run' },
  { path: 'index.sqlite', why: 'made again from the run folders' },
  { path: 'context/cypher', why: 'made again from the context record' },
  { path: 'scratch', why: 'of plannings that are under way' },
  { path: 'prepared', why: 'made again by the next validation' },
  { path: 'validation', why: 'of validations that are under way' },
  { path: 'supervisor', why: 'about the processes that run now' },
];

/** Of this machine's processes, of writes under way, or of databases that are copied as a whole. */
const passing = [
  /^listening\.json$/,
  /^holder\.json$/,
  /\.lock(-journal)?$/,
  /\.sqlite-(wal|shm|journal)$/,
  /^\..*\.(tmp|draft|partial|pruned|new)$/,
  /^tmp_/,
  new RegExp(`^${unfinishedRestoreName.replaceAll('.', '\\.')}`),
];

export function isPassing(name: string): boolean {
  return passing.some((pattern) => pattern.test(name));
}

/** What changes together with a database is read at the moment when that is pinned, whatever its size. */
export function belongsToStore(name: string): boolean {
  return /^open-calls-\d+\.jsonl$/.test(name);
}

export function isStore(name: string): boolean {
  return name.endsWith('.sqlite');
}

/** What nobody can put into a backup because it is not ours. */
export const notOurs: readonly LeftOut[] = [
  { what: 'working copies of repositories', why: 'they belong to people; Core only delivers branches there' },
];
