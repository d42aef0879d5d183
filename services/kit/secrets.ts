import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from './errors.ts';
import type { Folders } from './folders.ts';

const largest = 64 * 1024;

/** Values in the secrets and tokens of this installation, so that a redactor can hide them. Unreadable files hold none for us. */
export function readKnownSecrets(folders: Pick<Folders, 'secrets' | 'tokens'>): string[] {
  const tokens = namesIn(folders.tokens).filter((name) => name.endsWith('.token'));
  const paths = [
    ...namesIn(folders.secrets).map((name) => join(folders.secrets, name)),
    ...tokens.map((name) => join(folders.tokens, name)),
  ];
  return paths.flatMap((path) => {
    const text = readText(path);
    return text === null || text.trim() === '' || text.length > largest ? [] : [text.trim()];
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map(({ name }) => name);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
