import { realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { environment } from '#kit/environment.ts';

/** How a person calls this program from where they are: `./core`, `core` when it is on PATH, else its full path. */
export function calledAs(root: string): string {
  const launcher = join(root, 'core');
  if (join(process.cwd(), 'core') === launcher) return './core';
  return isOnPath(launcher) ? 'core' : shellWord(launcher);
}

function isOnPath(launcher: string): boolean {
  for (const folder of (environment.PATH ?? '').split(delimiter)) {
    try {
      if (folder !== '') return realpathSync(join(folder, 'core')) === realpathSync(launcher);
    } catch {
      // Not in this folder; the next one may have it.
    }
  }
  return false;
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
