import { posix } from 'node:path';
import type { RefreshedRepository } from '#kit/contracts/context/refresh.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { digestOf } from '#kit/digest.ts';
import { codeOf, Failed, messageOf } from '#kit/errors.ts';
import { isLfsPointer } from '#kit/git/lfs-pointer.ts';
import { secretFinder } from '#kit/redaction/secret-finder.ts';
import { learnHistory } from '../search/learn-history.ts';
import { Extractor, extractorVersion } from './extraction/extractor.ts';
import type { IngestedFile } from './ingest-queries.ts';
import { linkRepository } from './linking/link-repository.ts';
import type { IngestTarget, Progress, RecordAccess } from './record-access.ts';
import { readBlobs } from './repository/git-repository.ts';
import { type ListedFile, type Listing, listFiles, type Skipped } from './repository/listing.ts';
import { type FileRows, storedFile } from './stored-rows.ts';

type Counts = Pick<RefreshedRepository, 'files' | 'symbols' | 'edges'> & { readonly skipped: Skipped };

/**
 * Brings the record up to a commit of a repository. Each transaction leaves the record whole: a file's row says which content it
 * holds only when all of that is stored, and the repository's row says so last of all. So whatever cuts this off, the next time does
 * what is left.
 */
export async function ingestRepository(
  target: IngestTarget,
  access: RecordAccess,
  progress: (progress: Progress) => void,
): Promise<RefreshedRepository> {
  const started = performance.now();
  const { repository, path, commit } = target;
  const unchanged = target.full ? null : await totalsOf(target, access);
  const took = () => Math.round(performance.now() - started);
  if (unchanged !== null) {
    const counts = { read: 0, closed: 0, unchanged: unchanged.files };
    return { repository, commit, ...counts, ...unchanged, took_ms: took() };
  }
  const at = new Date().toISOString();
  await access.run('beginIngestion', { repository, path, at });
  const listing = await listFiles(target.gitDir, commit, target.maxFileBytes);
  const files = await access.ask('ingestedFiles', { repository });
  const known = new Map(files.map((file) => [file.path, file]));
  const closed = await closeGone(target, listing, known, at, access);
  const read = await readChanged(target, listing, known, at, access, progress);
  await closeEmptyFolders(target, at, access);
  await linkRepository(target, at, access);
  if (commit !== null)
    await learnHistory(access, { repository, gitDir: target.gitDir, commit, max: target.historyCommits });
  crashPoint('ingest_before_finish');
  const counts = await countsOf(repository, listing, read.lost, access);
  const basis = basisOf(target);
  await access.run('finishIngestion', { repository, at, basis, commit, totals: JSON.stringify(counts) });
  return {
    ...{ repository, commit, read: read.read, unchanged: counts.files - read.read, closed },
    ...counts,
    took_ms: took(),
  };
}

function basisOf(target: IngestTarget): string {
  const { commit, maxFileBytes, historyCommits } = target;
  return `${commit ?? 'empty'} ${readerOf(target)} ${maxFileBytes} ${historyCommits}`;
}

/** What the last ingestion counted, if it was of this commit and came to its end. */
async function totalsOf(target: IngestTarget, access: RecordAccess): Promise<Counts | null> {
  const rows = await access.ask('ingestedRepositories', null);
  const row = rows.find(({ repository }) => repository === target.repository);
  return row?.basis === basisOf(target) && row.totals !== null ? (JSON.parse(row.totals) as Counts) : null;
}

/** Each of these transactions closes all that is in so many files. */
const filesOfClosing = 8;

async function closeGone(
  { repository }: IngestTarget,
  { files, unreadable }: Listing,
  known: ReadonlyMap<string, IngestedFile>,
  at: string,
  access: RecordAccess,
): Promise<number> {
  const present = new Set([...files.map(({ path }) => path), ...unreadable]);
  const gone = [...known.values()].filter(({ path }) => !present.has(path));
  for (let from = 0; from < gone.length; from += filesOfClosing) {
    const paths = gone.slice(from, from + filesOfClosing).map(({ path }) => path);
    await access.run('closeFiles', { repository, at, paths });
    crashPoint('ingest_between_closings');
  }
  return gone.filter(({ skipped }) => skipped === null).length;
}

async function readChanged(
  target: IngestTarget,
  { files }: Listing,
  known: ReadonlyMap<string, IngestedFile>,
  at: string,
  access: RecordAccess,
  progress: (progress: Progress) => void,
): Promise<{ read: number; lost: number }> {
  const { repository, gitDir, commit, full } = target;
  const changed = files.filter((file) => full || known.get(file.path)?.source !== sourceOf(file, target));
  const counts = { read: 0, lost: 0 };
  if (commit === null || changed.length === 0) return counts;
  const extractor = new Extractor(secretFinder(target.released));
  const batches = new Batches(async (files) => {
    await access.run('storeFiles', { repository, at, files });
    crashPoint('ingest_between_batches');
  });
  let done = 0;
  for await (const { file, bytes } of readBlobs(gitDir, commit, changed)) {
    const rows = bytes === null ? null : await readFile(target, extractor, file, bytes);
    if (rows === null) counts.lost++;
    else {
      await batches.add(rows);
      if (!('skipped' in rows)) counts.read++;
    }
    progress({ done: ++done, total: changed.length, path: file.path });
  }
  await batches.end();
  return counts;
}

async function readFile(
  target: IngestTarget,
  extractor: Extractor,
  file: ListedFile,
  bytes: Buffer,
): Promise<FileRows> {
  const { repository, plainly } = target;
  const { path, blob, size } = file;
  const source = sourceOf(file, target);
  if (isLfsPointer(bytes)) return { path, source, skipped: 'lfs' };
  try {
    const extraction = await extractor.extract(path, bytes, plainly.includes(blob));
    if (extraction === null) return { path, source, skipped: 'binary' };
    return storedFile(repository, { path, source, size }, extraction);
  } catch (cause) {
    const code = codeOf(cause) === 'parser_broken' ? 'parser_broken' : 'file_not_read';
    throw new Failed(code, `${path}: ${messageOf(cause)}`, { cause, facts: { blob } });
  }
}

/** Which content a row holds, by the reader that read it. */
function sourceOf({ blob }: ListedFile, target: IngestTarget): string {
  return `${readerOf(target)} ${blob}`;
}

/** What a file's parts depend on beside its content. */
function readerOf({ released }: IngestTarget): string {
  return released.length === 0
    ? `${extractorVersion}`
    : `${extractorVersion}-${digestOf([...released].sort()).slice(0, 8)}`;
}

async function closeEmptyFolders(
  { repository }: IngestTarget,
  at: string,
  access: RecordAccess,
): Promise<void> {
  const { relink } = await access.ask('importFacts', { repository });
  if (relink === 0) return;
  const open = await access.ask('openDirectories', { repository });
  const stored = await access.ask('ingestedFiles', { repository });
  const used = new Set<string>();
  for (const { path, skipped } of stored) {
    let folder = skipped === null ? posix.dirname(path) : '.';
    for (; folder !== '.' && !used.has(folder); folder = posix.dirname(folder)) used.add(folder);
  }
  const paths = open.filter((path) => !used.has(path));
  if (paths.length > 0) await access.run('closeDirectories', { repository, at, paths });
}

async function countsOf(
  repository: string,
  listing: Listing,
  lost: number,
  access: RecordAccess,
): Promise<Counts> {
  const { kept, symbols, edges } = await access.ask('ingestedTotals', { repository });
  const counts = { ...listing.skipped, unreadable: listing.skipped.unreadable + lost };
  let stored = 0;
  for (const { skipped, files } of kept) {
    if (skipped === null) stored = files;
    else counts[skipped] += files;
  }
  return { files: stored, skipped: counts, symbols, edges };
}

/** About what the writer does in 6 ms; several that wait are committed together. Whoever else wants to write waits for no more than all of these. */
const maxBatchCost = 32_000;
const maxPending = 4;
/** What a node costs besides its text, in characters of text. */
const nodeCost = 600;

/** Sends files to the writer, several at a time, in their order, no more than it can do at once. */
class Batches {
  readonly #send: (files: readonly FileRows[]) => Promise<void>;
  readonly #pending = new Set<Promise<void>>();
  #files: FileRows[] = [];
  #cost = 0;

  constructor(send: (files: readonly FileRows[]) => Promise<void>) {
    this.#send = send;
  }

  async add(file: FileRows): Promise<void> {
    const cost = costOf(file);
    if (this.#cost > 0 && this.#cost + cost > maxBatchCost) await this.#flush();
    this.#files.push(file);
    this.#cost += cost;
  }

  /** Resolves when all is committed. */
  async end(): Promise<void> {
    await this.#flush();
    await Promise.all(this.#pending);
  }

  async #flush(): Promise<void> {
    if (this.#files.length === 0) return;
    while (this.#pending.size >= maxPending) await Promise.race(this.#pending);
    const sent = this.#send(this.#files).finally(() => this.#pending.delete(sent));
    // `add` and `end` reject with it; until then it must not end the process.
    sent.catch(() => {});
    this.#pending.add(sent);
    this.#files = [];
    this.#cost = 0;
  }
}

function costOf(file: FileRows): number {
  if ('skipped' in file) return nodeCost;
  return file.parts.reduce((sum, { text }) => sum + nodeCost + text.length, nodeCost + file.text.length);
}
