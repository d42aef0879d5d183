import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { environment } from './environment.ts';

/**
 * First program of that name on PATH, or in the folders of the system's administration, which many people's PATH lacks; null
 * where there is none.
 */
export function findProgram(name: string): string | null {
  const folders = [...(environment.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  const found = folders
    .filter(isAbsolute)
    .map((folder) => join(folder, name))
    .find(existsSync);
  return found ?? null;
}
