import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * Replaces a file atomically and durably: temporary file beside it, fsync, rename, fsync of the folder.
 * A crash leaves the old content or the new, never a mixture. Files are 0600 unless `mode` says otherwise.
 */
export function writeFileDurably(path: string, content: string | Uint8Array, mode = 0o600): void {
  replaceFile(path, content, mode);
  syncFolder(dirname(path));
}

/** The same without the fsync of the folder, which the caller does once for several files. */
export function replaceFile(path: string, content: string | Uint8Array, mode = 0o600): void {
  replace(path, content, { mode, sync: fsyncSync });
}

/** The same without any fsync: for what processes report of themselves, which is void after a power cut. */
export function replaceNote(path: string, content: string | Uint8Array, mode = 0o600): void {
  replace(path, content, { mode, sync: () => {} });
}

function replace(
  path: string,
  content: string | Uint8Array,
  { mode, sync }: { readonly mode: number; readonly sync: (fd: number) => void },
): void {
  const temporary = join(dirname(path), `.${basename(path)}.${crypto.randomUUID()}.tmp`);
  try {
    const fd = openSync(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, mode);
    try {
      writeAll(fd, content);
      sync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Writes every byte; `writeSync` alone may write fewer. */
export function writeAll(fd: number, content: string | Uint8Array): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  for (let offset = 0; offset < bytes.length; ) offset += writeSync(fd, bytes, offset);
}

/** Makes the entries of a folder durable, after a file in it was made, renamed or removed. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const fd = openSync(folder, constants.O_RDONLY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Makes a folder of this installation, readable by its owner alone, and its parents. One by one, because Node's own
 * recursive way never ends where the system answers ENOENT to each attempt, as below `/proc`.
 */
export function makePrivateFolder(path: string): void {
  if (existsSync(path) && statSync(path).isDirectory()) return;
  const parent = dirname(path);
  if (parent !== path) makePrivateFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!(existsSync(path) && statSync(path).isDirectory())) throw error;
  }
}
