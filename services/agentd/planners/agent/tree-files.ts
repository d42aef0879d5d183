import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  type Stats,
} from 'node:fs';
import { posix } from 'node:path';
import { writeAll } from '#kit/durable-file.ts';
import { codeOf, InvalidInput, NotFound, TooLarge } from '#kit/errors.ts';
import { pathProblem } from '../../git/patch.ts';
import { maxFileBytes } from '../../planning/scratch-copy.ts';
import { isInside } from './permissions.ts';

const { O_RDONLY, O_WRONLY, O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/**
 * Text files of a folder in which programs that nobody trusts are at work. Each part of a path is opened from the folder before it,
 * so that no link is followed, whatever they put in its place meanwhile.
 */
export class TreeFiles {
  readonly #folder: string;
  readonly #seenAs: string;

  /** @param seenAs the folder as those programs name it */
  constructor(folder: string, seenAs: string) {
    this.#folder = folder;
    this.#seenAs = seenAs;
  }

  /** @throws InvalidInput (`path_not_allowed`), NotFound (`file_not_found`), TooLarge (`file_too_large`) */
  readText(path: string): string {
    return this.#withFile(path, O_RDONLY, (fd, { size }) => {
      requireSize(path, size);
      return readUpTo(fd, size).toString('utf8');
    });
  }

  /** Makes the folders above it. @throws as `readText` */
  writeText(path: string, content: string): void {
    const bytes = Buffer.from(content);
    requireSize(path, bytes.length);
    this.#withFile(path, O_WRONLY | O_CREAT, (fd) => {
      ftruncateSync(fd, 0);
      writeAll(fd, bytes);
    });
  }

  #withFile<T>(path: string, flags: number, work: (fd: number, facts: Stats) => T): T {
    const parts = this.#partsOf(path);
    const open: number[] = [openSync(this.#folder, O_RDONLY | O_DIRECTORY)];
    const place = (part: string) => `/proc/self/fd/${open.at(-1)}/${part}`;
    try {
      for (const part of parts.slice(0, -1)) {
        if ((flags & O_CREAT) !== 0) makeFolder(place(part));
        open.push(openSync(place(part), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
      }
      const fd = openSync(place(parts.at(-1)!), flags | O_NOFOLLOW | O_NONBLOCK, 0o644);
      open.push(fd);
      const facts = fstatSync(fd);
      if (!facts.isFile()) throw notAllowed(path, 'is no file');
      return work(fd, facts);
    } catch (error) {
      throw explained(path, error);
    } finally {
      for (const fd of open) closeSync(fd);
    }
  }

  #partsOf(path: string): string[] {
    if (!isInside(path, this.#seenAs)) throw notAllowed(path, `is outside of ${this.#seenAs}`);
    const relative = posix.relative(this.#seenAs, posix.resolve(this.#seenAs, path));
    const problem = relative === '' ? 'is the folder itself' : pathProblem(relative);
    if (problem !== null) throw notAllowed(path, problem);
    return relative.split('/');
  }
}

/** What is added meanwhile is not read: nothing bounds it. */
function readUpTo(fd: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  let end = 0;
  for (let read = -1; read !== 0 && end < size; end += read) read = readSync(fd, bytes, end, size - end, end);
  return bytes.subarray(0, end);
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

function requireSize(path: string, bytes: number): void {
  if (bytes <= maxFileBytes) return;
  throw new TooLarge(
    'file_too_large',
    `'${path}' has ${bytes} bytes; planning takes files up to ${maxFileBytes}`,
  );
}

function notAllowed(path: string, problem: string): InvalidInput {
  return new InvalidInput('path_not_allowed', `'${path}' ${problem}`);
}

function explained(path: string, error: unknown): unknown {
  switch (codeOf(error)) {
    case 'ENOENT':
      return new NotFound('file_not_found', `there is no file '${path}'`);
    case 'ELOOP':
      return notAllowed(path, 'is a symbolic link');
    case 'ENOTDIR':
    case 'ENXIO':
    case 'EISDIR':
      return notAllowed(path, 'leads through a link or is no file');
    default:
      return error;
  }
}
