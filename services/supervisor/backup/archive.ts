import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import type * as t from 'io-ts';
import { Parser, type ReadEntry } from 'tar';
import { guarded } from '#kit/callbacks.ts';
import { decodeJson } from '#kit/decode.ts';
import { CoreError, codeOf, InvalidInput, messageOf, Unavailable } from '#kit/errors.ts';
import { unfinishedRestoreName } from '#kit/folders.ts';
import { isDiskFull } from '#kit/storage/storage-error.ts';
import { type BackedUpFile, formatVersion, Head, headName, Manifest, manifestName } from './manifest.ts';
import type { Progress } from './progress.ts';

/** Why a file is not taken for a backup. */

export function foreign(path: string, cause?: unknown): InvalidInput {
  return new InvalidInput(
    'backup_foreign',
    `${path} is no backup of Core: must be a file that ./core backup wrote`,
    {
      cause,
    },
  );
}

export function truncated(path: string): InvalidInput {
  return new InvalidInput('backup_truncated', `${path} ends too early: its last part is missing`, {
    hint: 'Copy it once more from where it was made, or take another backup.',
  });
}

export function damaged(path: string, what: string, cause?: unknown): InvalidInput {
  return new InvalidInput('backup_damaged', `${path} is damaged: ${what}`, {
    cause,
    hint: 'Copy it once more from where it was made, or take another backup.',
  });
}

/** @throws InvalidInput (`file_unreadable`) */
export async function requireReadable(path: string): Promise<void> {
  try {
    await access(path, constants.R_OK);
    if (!(await stat(path)).isFile()) throw new Error('it is not a file');
  } catch (cause) {
    throw new InvalidInput('file_unreadable', `${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

export interface EntryPlace {
  readonly root: 'state' | 'config';
  /** Below the root, in parts that are no way out of it. */
  readonly parts: readonly string[];
}

const maxNameLength = 4_096;
/** Bytes of a name that a file system takes. */
const maxPartBytes = 255;

/** @throws InvalidInput (`backup_unsafe`) for a name that is not one of ours */
export function placeOf(name: string): EntryPlace {
  const [root, ...parts] = name.split('/');
  const fits = name.length <= maxNameLength && !/[\p{Cc}\\]/u.test(name);
  const plain = parts.length > 0 && parts.every(isPlain) && !parts[0]!.startsWith(unfinishedRestoreName);
  if (fits && plain && (root === 'state' || root === 'config')) return { root, parts };
  throw new InvalidInput(
    'backup_unsafe',
    `the backup has an entry ${JSON.stringify(name.slice(0, 200))}: must be a path below state/ or config/ without . and .., control characters or ${unfinishedRestoreName}`,
    { hint: 'Nothing was restored. Core makes no such backups: it was changed, or comes from elsewhere.' },
  );
}

function isPlain(part: string): boolean {
  return part !== '' && part !== '.' && part !== '..' && Buffer.byteLength(part) <= maxPartBytes;
}

/** Takes what is in a backup, before it is known whether all of it holds. */
export interface ArchiveSink {
  folder(place: EntryPlace): Promise<void>;
  /** Must take all of `content`. */
  file(place: EntryPlace, executable: boolean, content: AsyncIterable<Uint8Array>): Promise<void>;
}

const maxHeadBytes = 64 * 1024;
const maxManifestBytes = 512 * 1024 * 1024;

/**
 * Reads a backup to its end and checks every file against the manifest.
 * @throws InvalidInput (`file_unreadable`, `backup_foreign`, `backup_newer`, `backup_truncated`, `backup_damaged`, `backup_unsafe`)
 */
export async function readArchive(
  path: string,
  sink: ArchiveSink,
  { progress, signal }: { readonly progress: Progress; readonly signal: AbortSignal },
): Promise<Manifest> {
  const reader = new EntryReader(path, sink);
  const parser = new Parser({ strict: true, maxDecompressionRatio: Number.POSITIVE_INFINITY });
  let broken: unknown = null;
  let taken: ReadEntry | null = null;
  let work = Promise.resolve();
  const failed = new Promise<void>((resolve) => {
    parser.on(
      'error',
      guarded('a backup', (error: unknown) => {
        broken ??= error;
        resolve();
      }),
    );
  });
  const take = guarded('a backup', (entry: ReadEntry) => {
    entry.on('error', () => {});
    work = work
      .then(() => {
        taken = entry;
        return broken === null ? reader.take(entry) : undefined;
      })
      .catch((error: unknown) => {
        broken ??= error;
      })
      .finally(() => void entry.resume());
  });
  parser.on('entry', take);
  parser.on('ignoredEntry', take);
  const ended = new Promise<void>((resolve) => parser.once('end', () => resolve()));
  try {
    for await (const chunk of unzipped(path, progress)) {
      signal.throwIfAborted();
      if (!parser.write(chunk)) await Promise.race([drained(parser), ended, failed]);
      if (broken !== null) throw broken;
    }
    parser.end();
    await Promise.race([ended, failed]);
    if (broken !== null) throw broken;
    await work;
    if (broken !== null) throw broken;
    return reader.manifest();
  } catch (error) {
    broken ??= error;
    // Whoever waits for more of it learns that nothing comes.
    (taken as ReadEntry | null)?.destroy(new Error('the backup ends here'));
    await work;
    throw explained(broken, path, reader.begun);
  }
}

function drained(parser: Parser): Promise<void> {
  return new Promise((resolve) => parser.once('drain', () => resolve()));
}

async function* unzipped(path: string, progress: Progress): AsyncGenerator<Buffer> {
  await requireReadable(path);
  const source = createReadStream(path, { highWaterMark: 256 * 1024 });
  const gunzip = createGunzip({ chunkSize: 256 * 1024 });
  source.on(
    'data',
    guarded('a backup', (bytes) => progress.add(bytes.length)),
  );
  source.once('error', (error) => gunzip.destroy(error));
  source.pipe(gunzip);
  try {
    yield* gunzip;
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

class EntryReader {
  readonly #path: string;
  readonly #sink: ArchiveSink;
  readonly #found = new Map<string, BackedUpFile>();
  #head: Head | null = null;
  #manifest: Manifest | null = null;

  constructor(path: string, sink: ArchiveSink) {
    this.#path = path;
    this.#sink = sink;
  }

  /** Whether it began as a backup does. */
  get begun(): boolean {
    return this.#head !== null;
  }

  async take(entry: ReadEntry): Promise<void> {
    if (this.#head === null) {
      this.#head = await this.#readHead(entry);
    } else if (this.#manifest !== null) {
      throw damaged(this.#path, `it goes on with ${entry.path} after its manifest`);
    } else if (entry.path === manifestName) {
      const text = await textOf(entry, maxManifestBytes, this.#path);
      this.#manifest = this.#decoded(Manifest, text, (what, cause) => damaged(this.#path, what, cause));
    } else {
      await this.#takeContent(entry);
    }
  }

  /** After the end; everything agrees with it. */
  manifest(): Manifest {
    if (this.#head === null) throw foreign(this.#path);
    if (this.#manifest === null) throw truncated(this.#path);
    const listed = this.#manifest.files;
    for (const { path, size, sha256 } of listed) {
      const found = this.#found.get(path);
      if (found === undefined) throw damaged(this.#path, `${path} is missing`);
      if (found.size === size && found.sha256 === sha256) continue;
      throw damaged(this.#path, `${path} has sha256 ${found.sha256}; the manifest says ${sha256}`);
    }
    if (this.#found.size === listed.length) return this.#manifest;
    const names = new Set(listed.map(({ path }) => path));
    const extra = [...this.#found.keys()].find((path) => !names.has(path));
    throw damaged(this.#path, `${extra} is in it, but not in its manifest`);
  }

  async #readHead(entry: ReadEntry): Promise<Head> {
    if (entry.type !== 'File' || entry.path !== headName) throw foreign(this.#path);
    const text = await textOf(entry, maxHeadBytes, this.#path);
    const head = this.#decoded(Head, text, (_what, cause) => foreign(this.#path, cause));
    if (head.format_version <= formatVersion) return head;
    throw new InvalidInput(
      'backup_newer',
      `${this.#path} has format ${head.format_version}, made by Core ${head.core_version}; this Core reads formats up to ${formatVersion}`,
      { hint: `Restore it with Core ${head.core_version} or a later one.` },
    );
  }

  #decoded<A>(
    codec: t.Decoder<unknown, A>,
    text: string,
    refusal: (what: string, cause: unknown) => InvalidInput,
  ): A {
    try {
      return decodeJson(codec, text, manifestName);
    } catch (error) {
      throw refusal(messageOf(error), error);
    }
  }

  async #takeContent(entry: ReadEntry): Promise<void> {
    if (entry.type === 'Directory') {
      entry.resume();
      return this.#sink.folder(placeOf(entry.path.replace(/\/$/, '')));
    }
    if (entry.type !== 'File' && entry.type !== 'OldFile') {
      throw new InvalidInput(
        'backup_unsafe',
        `the backup has the entry ${JSON.stringify(entry.path.slice(0, 200))} of type ${entry.type}: must be a file or a folder`,
        { hint: 'Nothing was restored. Core makes no such backups.' },
      );
    }
    const place = placeOf(entry.path);
    if (this.#found.has(entry.path)) throw damaged(this.#path, `${entry.path} is in it twice`);
    const sum = createHash('sha256');
    let size = 0;
    async function* summed() {
      for await (const bytes of entry) {
        sum.update(bytes);
        size += bytes.length;
        yield bytes;
      }
    }
    await this.#sink.file(place, ((entry.mode ?? 0) & 0o100) !== 0, summed());
    this.#found.set(entry.path, { path: entry.path, size, sha256: sum.digest('hex') });
  }
}

async function textOf(entry: ReadEntry, most: number, path: string): Promise<string> {
  if (entry.size > most) throw damaged(path, `${entry.path} has ${entry.size} bytes`);
  const parts: Buffer[] = [];
  for await (const bytes of entry) parts.push(bytes);
  return Buffer.concat(parts).toString('utf8');
}

function explained(error: unknown, path: string, begun: boolean): unknown {
  if (error instanceof CoreError) return error;
  const code = codeOf(error);
  if (code === 'Z_BUF_ERROR') return truncated(path);
  if (code === 'Z_DATA_ERROR' || code.startsWith('TAR_'))
    return begun ? damaged(path, messageOf(error), error) : foreign(path, error);
  return error;
}

/** Reads a backup to its end without writing anything. @throws what `readArchive` throws */
export async function verifyBackup(
  file: string,
  { progress, signal }: { readonly progress: Progress; readonly signal: AbortSignal },
): Promise<Manifest> {
  await requireReadable(file);
  progress.begin('verifying', (await stat(file)).size);
  try {
    const nowhere = {
      folder: async () => {},
      async file(_place: unknown, _executable: boolean, content: AsyncIterable<Uint8Array>) {
        for await (const _bytes of content);
      },
    };
    return await readArchive(file, nowhere, { progress, signal });
  } finally {
    progress.end();
  }
}

/** What the system says of a full disk, in our words; everything else as it is. */
export function diskError(error: unknown, folder: string): unknown {
  if (error instanceof CoreError) return error;
  if (!isDiskFull(error, folder)) return error;
  return new Unavailable('disk_full', `the disk of ${folder} is full: ${messageOf(error)}`, {
    cause: error,
    facts: { folder },
    hint: 'Make room, then do it again; what was written so far is gone.',
  });
}
