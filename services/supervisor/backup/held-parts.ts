import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { makePrivateFolder, syncFolder } from '#kit/durable-file.ts';
import { unfinishedRestoreName } from '#kit/folders.ts';
import { type FolderHold, holdFolder } from '#kit/storage/lock.ts';
import { isFolder } from './move-into-place.ts';

/** Folders of the state that one service each holds. */
const parts = ['context', 'model-gateway', 'bridge', 'bus'];

export interface HeldParts {
  /** Their services do not start any more, also when this process has gone. */
  mark(): void;
  /** Their services may start, as soon as they are released. */
  unmark(): void;
  release(): void;
}

/**
 * Holds the parts that are there. In containers each is a disk of its own, whose service does not see what is in the state
 * folder itself, nor the restore its process.
 * @throws Conflict (`restore_in_use`) naming who holds one
 */
export function holdParts(state: string): HeldParts {
  const folders = parts.map((name) => join(state, name)).filter(isFolder);
  const holds: FolderHold[] = [];

  function release(): void {
    for (const hold of holds.splice(0)) hold.release();
  }

  try {
    for (const folder of folders)
      holds.push(holdFolder(folder, { code: 'restore_in_use', name: 'what is restored', forRestore: true }));
  } catch (error) {
    release();
    throw error;
  }
  return {
    mark() {
      for (const folder of folders) {
        makePrivateFolder(join(folder, unfinishedRestoreName));
        syncFolder(folder);
      }
    },
    unmark() {
      for (const folder of folders) {
        rmSync(join(folder, unfinishedRestoreName), { recursive: true, force: true });
        syncFolder(folder);
      }
    },
    release,
  };
}
