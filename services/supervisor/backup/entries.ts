import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Header, Pax } from 'tar';
import { codeOf, Failed } from '#kit/errors.ts';
import { isExecutable, isPassing, namesIn, reading, unreadable } from './state-folder.ts';

export type TarEntry =
  | {
      readonly kind: 'file';
      readonly name: string;
      readonly size: number;
      readonly executable: boolean;
      /** Gives exactly `size` bytes. */
      readonly content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
    }
  | { readonly kind: 'folder'; readonly name: string };

const blockSize = 512;

/** The bytes of a tar archive (POSIX.1-2001), whose entries are asked for one after the other. */
export async function* tarOf(entries: AsyncIterable<TarEntry>, mtime: Date): AsyncGenerator<Uint8Array> {
  for await (const entry of entries) {
    yield headerOf(entry, mtime);
    if (entry.kind === 'folder') continue;
    yield* entry.content;
    const rest = entry.size % blockSize;
    if (rest > 0) yield Buffer.alloc(blockSize - rest);
  }
  yield Buffer.alloc(2 * blockSize);
}

function headerOf(entry: TarEntry, mtime: Date): Uint8Array {
  const isFile = entry.kind === 'file';
  const facts = {
    path: isFile ? entry.name : `${entry.name}/`,
    mode: isFile && !entry.executable ? 0o600 : 0o700,
    size: isFile ? entry.size : 0,
    mtime,
  };
  const header = new Header({ ...facts, type: isFile ? 'File' : 'Directory' });
  if (!header.encode()) return header.block!;
  return Buffer.concat([new Pax({ path: facts.path, size: facts.size }).encode(), header.block!]);
}

type FileEntry = Extract<TarEntry, { kind: 'file' }>;

const chunkSize = 256 * 1024;

export function bytesEntry(name: string, bytes: Uint8Array, executable = false): FileEntry {
  return { kind: 'file', name, size: bytes.length, executable, content: [bytes] };
}

/** Entry of a file with its current length; null if there is none. The caller must read its content, which closes the file. */
export function fileEntry(name: string, path: string): FileEntry | null {
  const fd = reading(path, () => openSync(path, 'r'));
  if (fd === null) return null;
  const stats = fstatSync(fd);
  return {
    kind: 'file',
    name,
    size: stats.size,
    executable: isExecutable(stats),
    content: closing(fd, stats.size, path),
  };
}

function* closing(fd: number, size: number, path: string): Generator<Uint8Array> {
  try {
    yield* rangeOf(fd, size, path);
  } finally {
    closeSync(fd);
  }
}

/** The first `size` bytes of an open file. @throws Failed (`backup_file_changed`) if it has fewer */
function* rangeOf(fd: number, size: number, path: string): Generator<Uint8Array> {
  for (let position = 0; position < size; ) {
    const buffer = Buffer.alloc(Math.min(chunkSize, size - position));
    const read = readSync(fd, buffer, 0, buffer.length, position);
    if (read === 0) {
      throw new Failed('backup_file_changed', `${path} became shorter while it was read`, {
        facts: { path },
        hint: 'Back up again.',
      });
    }
    yield buffer.subarray(0, read);
    position += read;
  }
}

/**
 * The objects of a git repository. Packing moves objects from files that go to a file that came, so that after one was gone
 * everything that is new is looked for once more.
 */
export function* objectEntries(name: string, path: string): Generator<TarEntry> {
  const known = new Set<string>();
  for (let complete = false; !complete; ) {
    complete = true;
    for (const one of filesBelow(path, '')) {
      if (known.has(one)) continue;
      known.add(one);
      const entry = fileEntry(`${name}/${one}`, join(path, one));
      if (entry === null) complete = false;
      else yield entry;
    }
  }
  for (const folder of ['', '/info', '/pack']) yield { kind: 'folder', name: `${name}${folder}` };
}

function filesBelow(path: string, prefix: string): string[] {
  const entries = reading(path, () => readdirSync(path, { withFileTypes: true })) ?? [];
  return entries.flatMap((entry) => {
    if (isPassing(entry.name)) return [];
    const name = `${prefix}${entry.name}`;
    return entry.isDirectory()
      ? filesBelow(join(path, entry.name), `${name}/`)
      : entry.isFile()
        ? [name]
        : [];
  });
}

const logName = 'events.jsonl';
const tombstoneName = 'tombstone.json';
const artifactsName = 'artifacts';
const lineFeed = 0x0a;

/**
 * Entries of a run: its log up to `size`, its artifacts, and its views if the log is unchanged. A missing view is written again with the
 * next event.
 * @param size size of the log; -1 if there was none
 */
export async function* runEntries(runs: string, runId: string, size: number): AsyncGenerator<TarEntry> {
  const folder = join(runs, runId);
  const name = `state/runs/${runId}`;
  const log = size < 0 ? null : openLog(join(folder, logName));
  try {
    // It may have been pruned meanwhile.
    const tombstone =
      log === null ? fileEntry(`${name}/${tombstoneName}`, join(folder, tombstoneName)) : null;
    if (tombstone !== null) yield tombstone;
    if (log === null) return;
    const length = wholeLines(log, size);
    yield {
      kind: 'file',
      name: `${name}/${logName}`,
      size: length,
      executable: false,
      content: rangeOf(log, length, join(folder, logName)),
    };
    const artifacts = (namesIn(join(folder, artifactsName)) ?? []).filter((one) =>
      /^[0-9a-f]{64}$/.test(one),
    );
    for (const one of artifacts.toSorted()) {
      const entry = fileEntry(`${name}/${artifactsName}/${one}`, join(folder, artifactsName, one));
      if (entry !== null) yield entry;
    }
    const views = readViews(folder);
    if (fstatSync(log).size === size)
      for (const [view, bytes] of views) yield bytesEntry(`${name}/${view}`, bytes);
  } finally {
    if (log !== null) closeSync(log);
  }
}

function openLog(path: string): number | null {
  return reading(path, () => openSync(path, 'r'));
}

/** Number of bytes in complete lines. Bytes after the last line break are from a write that a crash cut off. */
function wholeLines(fd: number, size: number): number {
  const buffer = Buffer.alloc(256 * 1024);
  let length = 0;
  for (let position = 0; position < size; ) {
    const read = readSync(fd, buffer, 0, Math.min(buffer.length, size - position), position);
    if (read === 0) break;
    const last = buffer.lastIndexOf(lineFeed, read - 1);
    if (last >= 0) length = position + last + 1;
    position += read;
  }
  return length;
}

/** Everything beside log and artifacts, by name. */
function readViews(folder: string): Map<string, Uint8Array> {
  const views = new Map<string, Uint8Array>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + 1);
    const isOther = name === logName || name.startsWith(`${artifactsName}/`);
    if (!entry.isFile() || isOther || isPassing(entry.name)) continue;
    const bytes = readIfThere(path);
    if (bytes !== null) views.set(name, bytes);
  }
  return views;
}

function readIfThere(path: string): Uint8Array | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw unreadable(path, error);
  }
}
