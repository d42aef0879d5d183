import { createHash } from 'node:crypto';
import { createWriteStream, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { crashPoint } from '#kit/crash-point.ts';
import { Refused } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { diskError } from './archive.ts';
import { openBackupTarget } from './backup-target.ts';
import { bytesEntry, fileEntry, objectEntries, runEntries, type TarEntry, tarOf } from './entries.ts';
import {
  type BackedUpFile,
  formatVersion,
  type Head,
  headName,
  type Manifest,
  manifestName,
} from './manifest.ts';
import type { Progress } from './progress.ts';
import { runsFile, type Snapshot, type SqliteStore, takeSnapshot } from './snapshot.ts';
import { type BackupScope, leftOutOf } from './state-folder.ts';

export interface BackupOptions extends BackupScope {
  readonly folders: Folders;
  /** A new file, or a folder. */
  readonly target: string;
  readonly version: string;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

export interface BackupReport {
  readonly file: string;
  /** Of the file. */
  readonly bytes: number;
  readonly sha256: string;
  readonly manifest: Manifest;
}

/** In containers they are files of the host, each in one container. @throws Refused (`secrets_elsewhere`) */
function requireSecretsInside({ config, secrets, tokens, registry }: Folders): void {
  const outside = [secrets, tokens, registry].filter((folder) => dirname(folder) !== config);
  if (outside.length === 0) return;
  throw new Refused(
    'secrets_elsewhere',
    `keys and tokens lie in ${[...new Set(outside)].join(', ')}, outside of ${config}: a backup cannot take them along`,
    {
      hint: 'Leave --with-secrets out, and keep that folder (of the compose stack: secrets/ on the host) beside the backup.',
    },
  );
}

/** A copy of a database that was pinned at the snapshot. */
interface Copy {
  readonly name: string;
  readonly path: string;
}

/**
 * Writes all state of an installation, as it was at one moment, into one file, which has its name when it is whole.
 * @throws what `openBackupTarget` and `takeSnapshot` throw, Unavailable (`disk_full`)
 */
export async function backup(options: BackupOptions): Promise<BackupReport> {
  const { folders, version, progress, signal } = options;
  if (options.withSecrets) requireSecretsInside(folders);
  const target = openBackupTarget(options.target, folders, new Date());
  let snapshot: Snapshot | null = null;
  try {
    snapshot = takeSnapshot(folders, options);
    const copies = await copyStores(snapshot.stores, target.staging, signal);
    crashPoint('backup.copied');
    const head: Head = {
      format: 'core-backup',
      format_version: formatVersion,
      core_version: version,
      created_at: snapshot.at.toISOString(),
    };
    const writer = new BackupWriter(snapshot, copies, { head, options });
    progress.begin('backing up', writer.expected);
    const written = await writeArchive(target.part, tarOf(writer.entries(), snapshot.at), signal);
    crashPoint('backup.written');
    const file = target.publish();
    return { file, ...written, manifest: writer.manifest };
  } catch (error) {
    throw diskError(error, target.staging);
  } finally {
    progress.end();
    for (const store of snapshot?.stores ?? []) store.close();
    target.discard();
  }
}

async function copyStores(
  stores: readonly SqliteStore[],
  staging: string,
  signal: AbortSignal,
): Promise<Copy[]> {
  const copies: Copy[] = [];
  for (const [index, store] of stores.entries()) {
    signal.throwIfAborted();
    const path = join(staging, `${index}.sqlite`);
    await store.copyTo(path);
    store.close();
    copies.push({ name: store.name, path });
  }
  return copies;
}

/** The entries of a backup in their order, and what they were. */
class BackupWriter {
  readonly #snapshot: Snapshot;
  readonly #copies: readonly Copy[];
  readonly #head: Head;
  readonly #options: BackupOptions;
  readonly #files: BackedUpFile[] = [];
  #manifest: Manifest | null = null;

  constructor(
    snapshot: Snapshot,
    copies: readonly Copy[],
    { head, options }: { head: Head; options: BackupOptions },
  ) {
    this.#snapshot = snapshot;
    this.#copies = copies;
    this.#head = head;
    this.#options = options;
  }

  /** After the last entry. */
  get manifest(): Manifest {
    return this.#manifest!;
  }

  /** Bytes that are known of before, for people to see how far it is. */
  get expected(): number {
    const { tree, logs } = this.#snapshot;
    const copies = this.#copies.map(({ path }) => statSync(path).size);
    const sizes = [...copies, ...tree.read.map(({ bytes }) => bytes.length), ...logs.values()];
    return sizes.reduce((sum, size) => sum + Math.max(0, size), 0);
  }

  async *entries(): AsyncGenerator<TarEntry> {
    yield jsonEntry(headName, this.#head);
    for await (const entry of this.#sources()) yield entry.kind === 'file' ? this.#noted(entry) : entry;
    this.#manifest = this.#makeManifest();
    yield jsonEntry(manifestName, this.#manifest);
  }

  async *#sources(): AsyncGenerator<TarEntry> {
    const { tree, logs } = this.#snapshot;
    for (const name of tree.folders) yield { kind: 'folder', name };
    for (const { name, path } of this.#copies) yield* present(fileEntry(name, path));
    for (const { name, bytes, executable } of tree.read) yield bytesEntry(name, bytes, executable);
    for (const { name, path } of tree.later) yield* present(fileEntry(name, path));
    for (const { name, path } of tree.objects) yield* objectEntries(name, path);
    const runs = join(this.#options.folders.state, 'runs');
    for (const [runId, size] of logs) yield* runEntries(runs, runId, size);
  }

  #noted(entry: Extract<TarEntry, { kind: 'file' }>): TarEntry {
    const { name, size, content } = entry;
    const files = this.#files;
    const { progress, signal } = this.#options;
    async function* hashed() {
      const sum = createHash('sha256');
      for await (const bytes of content) {
        signal.throwIfAborted();
        sum.update(bytes);
        progress.add(bytes.length);
        yield bytes;
      }
      files.push({ path: name, size, sha256: sum.digest('hex') });
    }
    return { ...entry, content: hashed() };
  }

  #makeManifest(): Manifest {
    const { folders, withSecrets } = this.#options;
    const files = this.#files;
    return {
      ...this.#head,
      folders: { state: folders.state, config: folders.config },
      with_secrets: withSecrets,
      counts: {
        ...countRuns(this.#copies.find(({ name }) => name === `state/${runsFile}`)),
        stores: this.#copies.length,
        repositories: this.#snapshot.tree.objects.length,
        files: files.length,
        bytes: files.reduce((sum, { size }) => sum + size, 0),
      },
      files,
      left_out: leftOutOf(folders, this.#options, this.#snapshot.tree.leftOut),
    };
  }
}

/** Numbers of runs and events in a copy of the database of core-agentd; none if another database has them. */
function countRuns(copy: Copy | undefined): Pick<Manifest['counts'], 'runs' | 'events'> {
  if (copy === undefined) return { runs: 0, events: 0 };
  const database = new DatabaseSync(copy.path, { readOnly: true });
  try {
    const count = (text: string) => Number(Object.values(database.prepare(text).get()!)[0]);
    return {
      runs: count("SELECT count(*) FROM runs WHERE status <> 'pruned'"),
      events: count('SELECT count(*) FROM run_events'),
    };
  } finally {
    database.close();
  }
}

function jsonEntry(name: string, value: object): TarEntry {
  return bytesEntry(name, Buffer.from(`${JSON.stringify(value)}\n`));
}

function present(entry: TarEntry | null): TarEntry[] {
  return entry === null ? [] : [entry];
}

/** Durable when it returns. */
async function writeArchive(
  path: string,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<{ bytes: number; sha256: string }> {
  const sum = createHash('sha256');
  let bytes = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sum.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true });
  await pipeline(content, createGzip(), counted, file, { signal });
  return { bytes, sha256: sum.digest('hex') };
}
