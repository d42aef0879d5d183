import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';
import { Failed } from './errors.ts';

const defaultMaxBytes = 16 * 1024 * 1024;

export interface ReadOptions {
  readonly encoding?: 'utf8' | 'latin1';
  readonly maxBytes?: number;
}

/**
 * Reads a file that a person or another program put there: configuration, a secret, a certificate. Never waits, as opening a
 * named pipe would.
 * @throws Failed (`not_a_regular_file`, `input_file_too_large`), or the system's error, as `ENOENT`
 */
export function readSmallFile(
  path: string,
  { encoding = 'utf8', maxBytes = defaultMaxBytes }: ReadOptions = {},
): string {
  // Before opening, which can start something on a device.
  requireSmallFile(path, statSync(path), maxBytes);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    requireSmallFile(path, fstatSync(fd), maxBytes);
    return readFileSync(fd, encoding);
  } finally {
    closeSync(fd);
  }
}

/**
 * Reads a file that a person names on a command line. `-` is standard input, and `/dev/fd/63` is what the shell opened for
 * `<(command)`.
 * @throws as `readSmallFile`
 */
export function readGivenFile(path: string): string {
  if (path === '-' || path === '/dev/stdin') return readFileSync(0, 'utf8');
  const [, fd] = /^\/(?:dev|proc\/self)\/fd\/(\d{1,4})$/.exec(path) ?? [];
  return fd === undefined ? readSmallFile(path) : readFileSync(Number(fd), 'utf8');
}

/** For a file that another program reads. @throws Failed (`not_a_regular_file`), or the system's error, as `ENOENT` */
export function requireRegularFile(path: string, stats = statSync(path)): void {
  if (stats.isFile()) return;
  throw new Failed('not_a_regular_file', `${path} is ${kindOf(stats)}; must be a regular file`, {
    facts: { path },
    hint: `Replace ${path} with a regular file.`,
  });
}

function requireSmallFile(path: string, stats: Stats, maxBytes: number): void {
  requireRegularFile(path, stats);
  if (stats.size <= maxBytes) return;
  throw new Failed('input_file_too_large', `${path} has ${stats.size} bytes; must have at most ${maxBytes}`, {
    facts: { path },
  });
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a folder';
  if (stats.isFIFO()) return 'a named pipe';
  return stats.isSocket() ? 'a socket' : 'a device';
}
