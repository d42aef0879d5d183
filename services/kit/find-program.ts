import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { environment } from './environment.ts';

/**
 * First program of that name on PATH that may be executed, or in the folders of the system's administration, which many people's
 * PATH lacks; null where there is none.
 */
export function findProgram(name: string, path = environment.PATH ?? ''): string | null {
  const folders = [...path.split(delimiter), '/usr/sbin', '/sbin'];
  const found = folders
    .filter(isAbsolute)
    .map((folder) => join(folder, name))
    .find(isProgram);
  return found ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
