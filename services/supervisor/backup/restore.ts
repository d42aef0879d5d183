import { type FileHandle, mkdir, open, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crashPoint } from '#kit/crash-point.ts';
import { syncFolder } from '#kit/durable-file.ts';
import { codeOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { damaged, requireReadable } from './archive-refusals.ts';
import { diskError } from './disk-error.ts';
import type { EntryPlace } from './entry-name.ts';
import type { Manifest } from './manifest.ts';
import type { Progress } from './progress.ts';
import { type ArchiveSink, readArchive } from './read-archive.ts';
import { openRestoreTarget, type RestoreTarget, type Root } from './restore-target.ts';

const mostSyncing = 32;

export interface RestoreOptions {
  readonly file: string;
  readonly folders: Folders;
  /** Leaves the configuration folder alone. */
  readonly stateOnly: boolean;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/**
 * Puts what is in a backup into empty folders, after all of it was checked. However it is cut off, nothing half restored can be
 * used, and doing it again completes it.
 * @throws what `openRestoreTarget` and `readArchive` throw, Unavailable (`disk_full`)
 */
export async function restore({
  file,
  folders,
  stateOnly,
  progress,
  signal,
}: RestoreOptions): Promise<Manifest> {
  await requireReadable(file);
  const roots: readonly Root[] = stateOnly ? ['state'] : ['state', 'config'];
  const target = openRestoreTarget(folders, roots);
  const unpacked = new Unpacked(file, target, roots);
  try {
    progress.begin('restoring', (await stat(file)).size);
    const manifest = await readArchive(file, unpacked, { progress, signal });
    await unpacked.sync();
    crashPoint('restore.unpacked');
    target.publish();
    return manifest;
  } catch (error) {
    await unpacked.settle();
    target.discard();
    throw diskError(error, folders.state);
  } finally {
    progress.end();
  }
}

/**
 * Writes entries where the installation is put together. What is there was made here: there are no links to follow. Nothing of the
 * state is a program, so that a repository's hooks, which Core never makes, do not run.
 */
class Unpacked implements ArchiveSink {
  readonly #file: string;
  readonly #target: RestoreTarget;
  readonly #roots: readonly Root[];
  readonly #made = new Set<string>();
  readonly #syncing = new Set<Promise<void>>();
  readonly #unsynced: unknown[] = [];

  constructor(file: string, target: RestoreTarget, roots: readonly Root[]) {
    this.#file = file;
    this.#target = target;
    this.#roots = roots;
    for (const root of roots) this.#made.add(target.staging(root));
  }

  async folder(place: EntryPlace): Promise<void> {
    if (this.#roots.includes(place.root)) await this.#makeFolder(this.#pathOf(place), place);
  }

  async file(place: EntryPlace, executable: boolean, content: AsyncIterable<Uint8Array>): Promise<void> {
    if (!this.#roots.includes(place.root)) {
      for await (const _bytes of content);
      return;
    }
    const path = this.#pathOf(place);
    await this.#makeFolder(dirname(path), place);
    const handle = await this.#making(place, () =>
      open(path, 'wx', executable && place.root === 'config' ? 0o700 : 0o600),
    );
    try {
      for await (const bytes of content) await handle.writeFile(bytes);
    } catch (error) {
      await handle.close();
      throw error;
    }
    await this.#bringToDisk(handle);
  }

  /** Everything that was written, and its names, are on the disk when it returns. */
  async sync(): Promise<void> {
    await this.settle();
    if (this.#unsynced.length > 0) throw this.#unsynced[0];
    for (const folder of this.#made) syncFolder(folder);
  }

  /** No file is open any more. */
  async settle(): Promise<void> {
    await Promise.all(this.#syncing);
  }

  /** Beside what is written next: a disk brings many files to itself in the time of one. */
  async #bringToDisk(handle: FileHandle): Promise<void> {
    const synced = handle
      .sync()
      .finally(() => handle.close())
      .catch((error: unknown) => void this.#unsynced.push(error))
      .finally(() => this.#syncing.delete(synced));
    this.#syncing.add(synced);
    if (this.#syncing.size >= mostSyncing) await Promise.race(this.#syncing);
  }

  async #makeFolder(path: string, place: EntryPlace): Promise<void> {
    if (this.#made.has(path)) return;
    await this.#makeFolder(dirname(path), place);
    await this.#making(place, () => mkdir(path, { mode: 0o700 }));
    this.#made.add(path);
  }

  #pathOf({ root, parts }: EntryPlace): string {
    return join(this.#target.staging(root), ...parts);
  }

  async #making<T>(place: EntryPlace, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!['EEXIST', 'ENOTDIR', 'EISDIR'].includes(codeOf(error))) throw error;
      const name = [place.root, ...place.parts].join('/');
      throw damaged(this.#file, `${name} is in it as a file and as a folder`, error);
    }
  }
}
