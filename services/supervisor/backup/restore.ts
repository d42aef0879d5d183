import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crashPoint } from '#kit/crash-point.ts';
import { syncFolder } from '#kit/durable-file.ts';
import { codeOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import {
  type ArchiveSink,
  damaged,
  diskError,
  type EntryPlace,
  readArchive,
  requireReadable,
} from './archive.ts';
import type { Manifest } from './manifest.ts';
import type { Progress } from './progress.ts';
import { openRestoreTarget, type RestoreTarget, type Root } from './restore-target.ts';

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
    unpacked.syncFolders();
    crashPoint('restore.unpacked');
    target.publish();
    return manifest;
  } catch (error) {
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
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** The names of everything that was written are on the disk when it returns. */
  syncFolders(): void {
    for (const folder of this.#made) syncFolder(folder);
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
