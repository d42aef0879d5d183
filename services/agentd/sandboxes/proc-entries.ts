import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { scratchFolders as scratchNames } from '../ports/sandbox.ts';
import type { Mount } from './mount-points.ts';
import { procHidden, procReadOnly } from './system-view.ts';

/**
 * Entries of /proc that belong to the whole machine. Where Core runs as root the user inside owns them, whatever it is called
 * there, so that only a read-only mount keeps `/proc/sys/kernel/core_pattern` and its like from being written.
 */
export function existingProcEntries(): {
  readOnly: string[];
  hiddenFolders: string[];
  hiddenFiles: string[];
} {
  const present = (names: readonly string[]) =>
    names.map((name) => join('/proc', name)).filter((path) => kindOf(path));
  const hidden = present(procHidden);
  return {
    readOnly: present(procReadOnly),
    hiddenFolders: hidden.filter((path) => kindOf(path) === 'folder'),
    hiddenFiles: hidden.filter((path) => kindOf(path) === 'file'),
  };
}

/** Folders below read-only mounts that tools write to all the same, where preparing made them. */
export function scratchFolders(mounts: readonly Mount[]): string[] {
  return mounts.flatMap(({ source, target }) =>
    scratchNames.filter((name) => kindOf(join(source, name)) === 'folder').map((name) => `${target}/${name}`),
  );
}

function kindOf(path: string): 'folder' | 'file' | null {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (!facts) return null;
  return facts.isDirectory() ? 'folder' : 'file';
}
