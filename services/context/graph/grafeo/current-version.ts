import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceNote } from '#kit/durable-file.ts';
import type { Position } from '../changes.ts';

/** How much a version holds: less is on the disk when it was full, or when the file was damaged. */
export interface Counts {
  readonly nodes: number;
  readonly edges: number;
}

/** Which file of a projection's folder is the one to read, and what is in it. */
export interface CurrentVersion {
  readonly name: string;
  readonly position: Position;
  readonly counts: Counts;
}

/** null: there is none, or it cannot be read. */
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
  replaceNote(join(folder, 'current'), JSON.stringify(version));
}
