import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Failed } from '#kit/errors.ts';
import { isExecutable, reading } from './captured-tree.ts';
import { isPassing } from './state-folder.ts';
import type { TarEntry } from './tar-stream.ts';

type FileEntry = Extract<TarEntry, { kind: 'file' }>;

const chunkSize = 256 * 1024;

export function bytesEntry(name: string, bytes: Uint8Array, executable = false): FileEntry {
  return { kind: 'file', name, size: bytes.length, executable, content: [bytes] };
}

/** A file as long as it is now; null where there is none. Whoever gets it must take its content, which closes it. */
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

/** The first `size` bytes of an open file. @throws Failed (`backup_file_changed`) where it has fewer */
export function* rangeOf(fd: number, size: number, path: string): Generator<Uint8Array> {
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
