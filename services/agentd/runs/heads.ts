import {
  closeSync,
  existsSync,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as t from 'io-ts';
import { crashPoint } from '#kit/crash-point.ts';
import { decodeJson, integerBetween, nullable, Sha256 } from '#kit/decode.ts';
import { makePrivateFolder, syncFolder, writeFileDurably } from '#kit/durable-file.ts';
import { Conflict, InvalidInput, messageOf } from '#kit/errors.ts';
import { thisProcess } from '#kit/sqlite-lease-holder.ts';
import { beforeFirst, type Head } from './event-line.ts';
import type { Run } from './run.ts';
import { logName } from './run-folder.ts';
import { isRunId } from './run-id.ts';

const place = { seq: integerBetween(0, Number.MAX_SAFE_INTEGER), hash: Sha256 };
/** The place of an event in its chain, and what kind of event it is. */
const HeadMark = t.strict({ ...place, type: t.string });
export type HeadMark = t.TypeOf<typeof HeadMark>;

/** What is known of a chain outside the run's folder. */
const HeadRecord = t.strict({
  run_id: t.string,
  acknowledged: HeadMark,
  /**
   * An append that was under way when this was written. Its events were in the log before, so that while the machine has not been
   * started again they must be there; after a power cut they may never have reached the disk, and nobody was told that they had.
   */
  pending: nullable(t.strict({ ...HeadMark.type.props, boot: t.string })),
  pruned: t.boolean,
});
export type HeadRecord = t.TypeOf<typeof HeadRecord>;

export const headsName = 'heads';

/** One sector, which a disk writes as a whole or not at all. */
const recordBytes = 512;
const sync = promisify(fdatasync);
const nothingYet: HeadMark = { ...beforeFirst, type: '' };

/**
 * `<state>/heads/<run_id>`: the newest event of each run that was acknowledged, written in place. Every write but the first is made
 * under the append lock. A record is behind its log after a crash, and never ahead of it.
 */
export class Heads {
  readonly #folder: string;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, headsName);
  }

  /** null where there is none. @throws Conflict (`record_cut`) where there is one that cannot be read */
  read(runId: string): HeadRecord | null {
    const path = this.#path(runId);
    if (!existsSync(path)) return null;
    try {
      const text = readFileSync(path, 'utf8');
      const record = decodeJson(HeadRecord, text, path);
      if (text.length !== recordBytes) throw new InvalidInput('invalid_input', `it has ${text.length} bytes`);
      if (record.run_id === runId) return record;
      throw new InvalidInput('invalid_input', `it is that of ${record.run_id}`);
    } catch (cause) {
      throw recordCut(runId, `what is known of its head cannot be read: ${messageOf(cause)}`, cause);
    }
  }

  /** Of every run that was ever made or written to since heads are kept, pruned ones too. */
  runIds(): string[] {
    return existsSync(this.#folder) ? readdirSync(this.#folder).filter(isRunId) : [];
  }

  /** Durable before the run's folder has its name, so that no run is without. */
  create(runId: string): void {
    makePrivateFolder(this.#folder);
    writeFileDurably(
      this.#path(runId),
      headText({ run_id: runId, acknowledged: nothingYet, pending: null, pruned: false }),
    );
    crashPoint('head_created');
  }

  /**
   * Says what an append is about to bring, when its lines are written and not yet durable. The disk takes both at the same time: one
   * after the other, an append would last twice as long.
   * @returns settled when this is durable
   */
  begin(runId: string, before: HeadMark, after: HeadMark): Promise<void> {
    if (!existsSync(this.#path(runId))) this.create(runId);
    const pending = { ...after, boot: thisProcess().boot_id };
    const fd = this.#write({ run_id: runId, acknowledged: before, pending, pruned: false });
    return sync(fd).finally(() => closeSync(fd));
  }

  /** Whether this says all that the log does. */
  isUpTo({ run_id, head }: Pick<Run, 'run_id' | 'head'>): boolean {
    try {
      const known = this.read(run_id);
      return known !== null && known.pending === null && known.acknowledged.seq === head.seq;
    } catch {
      return false;
    }
  }

  /** The append is durable, and whoever asked for it is about to be told. */
  acknowledge(runId: string, head: Head): void {
    const pending = this.read(runId)?.pending;
    if (pending == null || pending.seq !== head.seq || pending.hash !== head.hash) return;
    const { seq, hash, type } = pending;
    const fd = this.#write({
      run_id: runId,
      acknowledged: { seq, hash, type },
      pending: null,
      pruned: false,
    });
    // Nobody waits for it: only a power cut within these milliseconds would find the append still pending.
    fdatasync(fd, () => closeSync(fd));
  }

  /** Durable when it returns. */
  put(runId: string, acknowledged: HeadMark, pruned = false): void {
    if (!existsSync(this.#path(runId))) this.create(runId);
    const fd = this.#write({ run_id: runId, acknowledged, pending: null, pruned });
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    syncFolder(this.#folder);
  }

  #write(record: HeadRecord): number {
    const fd = openSync(this.#path(record.run_id), 'r+');
    try {
      writeSync(fd, headText(record), 0);
      if (fstatSync(fd).size !== recordBytes) ftruncateSync(fd, recordBytes);
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
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

/** The event that the log must hold, by all that is known; null where nothing is known of this run. */
export function headToHold(known: HeadRecord | null): HeadMark | null {
  if (known === null) return null;
  const { acknowledged, pending } = known;
  return pending !== null && pending.boot === thisProcess().boot_id ? pending : acknowledged;
}

/** As much of an event log as is compared with a head. */
interface HeldLog {
  readonly run: Run;
  hashOf(seq: number): string;
}

/** @throws Conflict (`record_cut`) where the log does not hold what was acknowledged */
export function requireWhole(runId: string, known: HeadRecord | null, log: HeldLog): void {
  const problem = cutProblem(known, log);
  if (problem !== null) throw recordCut(runId, problem);
}

function cutProblem(known: HeadRecord | null, log: HeldLog): string | null {
  const held = headToHold(known);
  if (held === null) {
    return log.run.head_kept
      ? `what was known of its head, outside its folder, is gone (${headsName}/${log.run.run_id})`
      : null;
  }
  const { seq } = log.run.head;
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
