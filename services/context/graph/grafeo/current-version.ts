import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Position } from '../changes.ts';
import type { Counts } from './projection-file.ts';

/** Which file of a projection's folder is the one to read, and what is in it. */
export interface CurrentVersion {
  readonly name: string;
  readonly position: Position;
  readonly counts: Counts;
}

/** null: there is none, or nobody can tell what it holds. */
export function readCurrent(folder: string): CurrentVersion | null {
  try {
    const read = JSON.parse(readFileSync(join(folder, 'current'), 'utf8')) as CurrentVersion;
    return typeof read.name === 'string' && typeof read.position.record === 'string' ? read : null;
  } catch {
    return null;
  }
}

/** All or nothing. */
export function writeCurrent(folder: string, version: CurrentVersion): void {
  const next = join(folder, 'current.next');
  try {
    writeFileSync(next, JSON.stringify(version));
    renameSync(next, join(folder, 'current'));
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}
