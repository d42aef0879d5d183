import { closeSync, existsSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import * as t from 'io-ts';
import { guarded } from '#kit/callbacks.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { decodeJson, integerBetween, Sha256 } from '#kit/decode.ts';
import { makePrivateFolder, writeFileDurably } from '#kit/durable-file.ts';
import { Conflict, codeOf, InvalidInput, messageOf } from '#kit/errors.ts';
import { headsName } from '#kit/folders.ts';
import { readSmallFile } from '#kit/small-file.ts';
import type { Run } from '../run.ts';
import { beforeFirst } from './event-line.ts';
import { logName } from './run-folder.ts';

/** The place of an event in its chain, and what kind of event it is. */
const HeadMark = t.strict({
  seq: integerBetween(0, Number.MAX_SAFE_INTEGER),
  hash: Sha256,
  type: t.string,
});
export type HeadMark = t.TypeOf<typeof HeadMark>;

/** What is known of a chain outside the run's folder. */
const HeadRecord = t.strict({ run_id: t.string, acknowledged: HeadMark, pruned: t.boolean });
export type HeadRecord = t.TypeOf<typeof HeadRecord>;

/** One sector, which a disk writes as a whole or not at all. */
const recordBytes = 512;
/** Milliseconds. A sync of its own for each event would halve the rate of appends. */
const syncWithin = 100;

/**
 * `<state>/heads/<run_id>`: the newest event of each run that was acknowledged, in place.
 *
 * An append makes its lines durable, then writes the head, both under the append lock, and then returns. So a head is never ahead
 * of its log. A process killed before it writes the head leaves a log that is ahead by events that it did not acknowledge; a
 * reader acknowledges them first. Only a power cut can take a head back, and only until it is synced: 100 ms after the append,
 * and before a command or request ends (`sync`). The events are in the log all the same, and the next append writes the head.
 */
export class Heads {
  readonly #folder: string;
  readonly #unsynced = new Set<string>();
  #timer: NodeJS.Timeout | null = null;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, headsName);
  }

  /** null where there is none. @throws Conflict (`record_cut`) where there is one that cannot be read */
  read(runId: string): HeadRecord | null {
    const path = this.#path(runId);
    try {
      const text = readSmallFile(path);
      const record = decodeJson(HeadRecord, text, path);
      if (text.length !== recordBytes) throw new InvalidInput('invalid_input', `it has ${text.length} bytes`);
      if (record.run_id === runId) return record;
      throw new InvalidInput('invalid_input', `it is that of ${record.run_id}`);
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return null;
      throw recordCut(runId, `what is known of its head cannot be read: ${messageOf(cause)}`, cause);
    }
  }

  /** Makes a head without an event where there is none. Durable before the log first says that a head is kept. */
  create(runId: string): void {
    if (existsSync(this.#path(runId))) return;
    makePrivateFolder(this.#folder);
    writeFileDurably(
      this.#path(runId),
      headText({ run_id: runId, acknowledged: { ...beforeFirst, type: '' }, pruned: false }),
    );
    crashPoint('head_created');
  }

  /** Call it when the event is durable in the log, before the caller gets its answer. */
  acknowledge(runId: string, { seq, hash, type }: HeadMark, pruned = false): void {
    const fd = this.#opened(runId);
    try {
      // The write is the last that can fail: an append that failed must not be in the head.
      if (fstatSync(fd).size !== recordBytes) ftruncateSync(fd, recordBytes);
      writeSync(fd, headText({ run_id: runId, acknowledged: { seq, hash, type }, pruned }), 0);
    } finally {
      closeSync(fd);
    }
    crashPoint('head_written');
    this.#unsynced.add(runId);
    this.#timer ??= setTimeout(
      guarded('the run store', () => this.syncAll()),
      syncWithin,
    ).unref();
  }

  #opened(runId: string): number {
    try {
      return openSync(this.#path(runId), 'r+');
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
    this.create(runId);
    return openSync(this.#path(runId), 'r+');
  }

  /** True if the log has events after the acknowledged one. False for runs without a head. */
  isBehind({ run_id, head, head_kept }: Pick<Run, 'run_id' | 'head' | 'head_kept'>): boolean {
    return head_kept && (this.read(run_id)?.acknowledged.seq ?? head.seq) < head.seq;
  }

  /** What was acknowledged of this run is on the disk when it returns. */
  sync(runId: string): void {
    if (!this.#unsynced.has(runId)) return;
    const fd = openSync(this.#path(runId), 'r+');
    try {
      fdatasyncSync(fd);
    } finally {
      closeSync(fd);
    }
    this.#unsynced.delete(runId);
    crashPoint('head_durable');
  }

  /** Syncs every head. The next append of a run writes again what the disk refused. */
  syncAll(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
    for (const runId of this.#unsynced) {
      try {
        this.sync(runId);
      } catch {}
    }
  }

  #path(runId: string): string {
    return join(this.#folder, runId);
  }
}

export function headText(record: HeadRecord): string {
  const text = JSON.stringify(record);
  if (text.length >= recordBytes) throw new RangeError(`a head of ${text.length} bytes`);
  return `${text.padEnd(recordBytes - 1)}\n`;
}

/** As much of an event log as is compared with a head. */
interface HeldLog {
  readonly head: { readonly seq: number };
  readonly headKept: boolean;
  hashOf(seq: number): string;
}

/** How the log does not hold what was acknowledged; null where it does. */
export function cutProblem(runId: string, known: HeadRecord | null, log: HeldLog): string | null {
  if (known === null) {
    return log.headKept
      ? `what was known of its head, outside its folder, is gone (${headsName}/${runId})`
      : null;
  }
  const held = known.acknowledged;
  const { seq } = log.head;
  if (held.seq > seq) {
    const lost = seq + 1 === held.seq ? `event ${held.seq}` : `events ${seq + 1} to ${held.seq}`;
    return `${logName} ends with event ${seq}, and ${lost} (${held.type}, hash ${held.hash.slice(0, 12)}) was acknowledged`;
  }
  const hash = log.hashOf(held.seq);
  if (hash === held.hash) return null;
  return `event ${held.seq} of ${logName} has the hash ${hash.slice(0, 12)}, and ${held.hash.slice(0, 12)} was acknowledged`;
}

export function recordCut(runId: string, what: string, cause?: unknown): Conflict {
  return new Conflict('record_cut', `the record of run ${runId} is not whole: ${what}. Nothing of it runs`, {
    cause,
    facts: { run_id: runId },
    hint: `./core recover ${runId} shows what is missing; a backup may have it.`,
  });
}
