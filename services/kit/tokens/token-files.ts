import { existsSync, lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { decodeJson } from '../decode.ts';
import { writeFileDurably } from '../durable-file.ts';
import { codeOf, Failed, messageOf, Refused } from '../errors.ts';
import { readSmallFile } from '../small-file.ts';
import { RegistryFile, type TokenRecord } from './token.ts';

export function registryPath(folder: string): string {
  return join(folder, 'registry.json');
}

export function tokenPath(folder: string, name: string): string {
  return join(folder, `${name}.token`);
}

/** Path of the text of a rotation that is being registered. */
export function nextTokenPath(folder: string, name: string): string {
  return join(folder, `${name}${nextSuffix}`);
}

const nextSuffix = '.token.next';

/** Names of the tokens whose texts are there. */
export function namesOfTokenFiles(folder: string): string[] {
  return namesIn(folder, '.token');
}

/** Names of the tokens whose rotation was cut off. */
export function namesOfNextTokens(folder: string): string[] {
  return namesIn(folder, nextSuffix);
}

function namesIn(folder: string, suffix: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length));
}

/** null where there is none yet. */
export function readRegistry(folder: string): { records: readonly TokenRecord[]; version: string } | null {
  const path = registryPath(folder);
  const stats = statOf(path);
  if (stats === null) return null;
  refuseForeignWriters(folder);
  refuseExposed(path, stats);
  const { tokens } = decodeJson(RegistryFile, readPrivate(path), path, 'token_registry_invalid');
  return { records: tokens, version: versionOf(stats) };
}

/** Changes whenever the registry does; null while there is none. */
export function registryVersion(folder: string): string | null {
  const stats = statOf(registryPath(folder));
  return stats === null ? null : versionOf(stats);
}

export function writeRegistry(folder: string, tokens: readonly TokenRecord[]): void {
  writeFileDurably(registryPath(folder), `${JSON.stringify({ tokens }, null, 2)}\n`);
}

/** The text in a token's file; null where there is no such file. */
export function readTokenFile(path: string): string | null {
  const stats = statOf(path);
  if (stats === null) return null;
  refuseExposed(path, stats);
  return readPrivate(path).trim();
}

function versionOf(stats: Stats): string {
  return `${stats.ino}:${stats.size}:${stats.mtimeMs}`;
}

function statOf(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return null;
    throw unreadable(path, cause);
  }
}

function readPrivate(path: string): string {
  try {
    return readSmallFile(path);
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

function unreadable(path: string, cause: unknown): Failed {
  return new Failed('token_file_unreadable', `${path} cannot be read: ${messageOf(cause)}`, { cause });
}

/** A token that others can read is no proof of who asks. */
function refuseExposed(path: string, stats: Stats): void {
  if (process.platform === 'win32' || (stats.isFile() && (stats.mode & 0o077) === 0)) return;
  if (!stats.isFile()) {
    throw new Refused(
      'token_file_exposed',
      `${path} is not a plain file: must be one that only its owner can read`,
    );
  }
  const mode = (stats.mode & 0o777).toString(8).padStart(4, '0');
  throw new Refused(
    'token_file_exposed',
    `${path} has mode ${mode}: must be 0600, readable by its owner alone`,
    {
      facts: { path, mode },
      hint: `chmod 600 '${path}'; if others may have read it, make a new one with ./core token create.`,
    },
  );
}

/** Who can write into the folder could add tokens of their own. */
function refuseForeignWriters(folder: string): void {
  const stats = statOf(folder);
  if (process.platform === 'win32' || stats === null || (stats.mode & 0o022) === 0) return;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, '0');
  throw new Refused(
    'token_file_exposed',
    `${folder} has mode ${mode}: must not be writable by others than its owner`,
    {
      facts: { path: folder, mode },
      hint: `chmod 700 '${folder}'`,
    },
  );
}
