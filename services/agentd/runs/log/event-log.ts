import {
  closeSync,
  fdatasyncSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readFileSync,
  type Stats,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crashPoint } from '#kit/crash-point.ts';
import { Failed, messageOf } from '#kit/errors.ts';
import type { NewEvent, RunEvent } from '../event.ts';
import type { Run } from '../run.ts';
import { beforeFirst, type Head, soundEvents, writeLine } from './event-line.ts';
import { fold, foldMore } from './fold.ts';
import type { HeadMark } from './heads.ts';
import { logName, notFound, requireLogFile } from './run-folder.ts';

/**
 * The event log of one run and what it folds to. The file is the authority: `refresh` reads it again when its inode, size or time
 * of change is another. Writing needs the run's append lock, which is the caller's.
 */
export class EventLog {
  readonly #runId: string;
  readonly #folder: string;
  /** What the file looked like when it was read or written here. */
  #stamp = '';
  #events: RunEvent[] = [];
  #run: Run | null = null;
  /** Bytes of whole lines. */
  #size = 0;
  #torn: Uint8Array = new Uint8Array();

  constructor(runId: string, folder: string) {
    this.#runId = runId;
    this.#folder = folder;
  }

  get run(): Run {
    if (this.#run === null) throw this.#damaged('event 1: there is none');
    return this.#run;
  }

  get size(): number {
    return this.#size;
  }

  /** What lies behind the last whole line, left by a crash in the middle of a write. */
  get torn(): Uint8Array {
    return this.#torn;
  }

  /** Of the event at `seq`, which is not behind the last. */
  hashOf(seq: number): string {
    return this.#events[seq - 1]?.hash ?? beforeFirst.hash;
  }

  eventsAfter(seq: number): RunEvent[] {
    return this.#events.slice(seq);
  }

  /** Brings the fold up to the file. @throws NotFound (`run_not_found`), Failed (`run_damaged`) */
  refresh(): void {
    const stats = requireLogFile(this.#runId, this.#folder);
    if (stats === null) throw notFound(this.#runId);
    const stamp = stampOf(stats);
    if (stamp === this.#stamp) return;
    const log = readFileSync(this.#path);
    const { events, length, problem } = soundEvents(log);
    if (problem !== null) throw this.#damaged(`event ${events.length + 1}: ${messageOf(problem)}`, problem);
    if (events.length === 0) throw this.#damaged('event 1: the log holds no whole event');
    this.#run = fold(this.#runId, events);
    this.#events = events;
    this.#size = length;
    this.#torn = log.subarray(length);
    this.#stamp = stamp;
  }

  /**
   * One write and one fdatasync for all events, and then `acknowledge` of the last. When any of them fails the file is what it was before.
   * A torn line behind the last event is overwritten.
   */
  append(events: readonly NewEvent[], clock: string, acknowledge: (head: HeadMark) => void): Run {
    const before = this.run;
    const at = clock > before.updated_at ? clock : before.updated_at;
    const { lines, text } = writeLines(before.head, at, events);
    const after = foldMore(before, lines);
    const bytes = Buffer.from(text);
    const fd = openSync(this.#path, 'r+');
    try {
      writeAt(fd, bytes, this.#size);
      crashPoint('events_written');
      if (this.#torn.length > bytes.length) ftruncateSync(fd, this.#size + bytes.length);
      fdatasyncSync(fd);
      crashPoint('events_durable');
      acknowledge(lines.at(-1)!);
    } catch (error) {
      takeBack(fd, this.#size);
      throw error;
    } finally {
      closeSync(fd);
    }
    this.#run = after;
    this.#events.push(...lines);
    this.#size += bytes.length;
    this.#torn = new Uint8Array();
    this.#stamp = stampOf(lstatSync(this.#path));
    return after;
  }

  get #path(): string {
    return join(this.#folder, logName);
  }

  #damaged(what: string, cause?: unknown): Failed {
    return new Failed('run_damaged', `run ${this.#runId} cannot be read: ${logName}, ${what}`, {
      cause,
      hint: `./core verify ${this.#runId} says what was changed where, ./core recover ${this.#runId} how to go on.`,
    });
  }
}

function stampOf({ ino, size, ctimeMs }: Stats): string {
  return `${ino}:${size}:${ctimeMs}`;
}

function takeBack(fd: number, size: number): void {
  try {
    ftruncateSync(fd, size);
    fdatasyncSync(fd);
  } catch {
    // What is left behind the last whole line is found as torn and set aside by the next append.
  }
}

export function writeLines(
  head: Head,
  at: string,
  events: readonly NewEvent[],
): { readonly lines: RunEvent[]; readonly text: string } {
  const lines: RunEvent[] = [];
  let text = '';
  let last = head;
  for (const event of events) {
    const line = writeLine(last, at, event);
    lines.push(line.event);
    text += line.text;
    last = line.event;
  }
  return { lines, text };
}

function writeAt(fd: number, bytes: Uint8Array, position: number): void {
  for (let offset = 0; offset < bytes.length; ) {
    offset += writeSync(fd, bytes, offset, bytes.length - offset, position + offset);
  }
}
