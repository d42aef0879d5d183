import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crashPoint } from '#kit/crash-point.ts';
import { codeOf, Failed, messageOf } from '#kit/errors.ts';
import type { NewEvent, RunEvent } from '../event.ts';
import type { Run } from '../run.ts';
import {
  beforeFirst,
  closingBytes,
  type Head,
  hashBytes,
  readLine,
  wholeLines,
  writeLine,
} from './event-line.ts';
import { fold, foldMore } from './fold.ts';
import type { HeadMark } from './heads.ts';
import { logName, notFound, requireLogFile } from './run-folder.ts';

/**
 * The open event log of one run and what it folds to. The file is the authority: `refresh` compares size, inode, time of change and the
 * hash in its last line with what is remembered, and reads what is new. Writing needs the run's append lock, which is the caller's.
 */
export class EventLog {
  readonly #runId: string;
  readonly #path: string;
  #file: OpenFile;
  /** Bytes of whole lines; what lies behind is a torn line. */
  #size = 0;
  #torn = 0;
  /** When the file was changed, as it was read or written here: it may be edited in place. */
  #changed = 0;
  /** Where each line starts, by seq - 1. */
  #starts: number[] = [];
  #run: Run | null = null;

  /** @throws NotFound (`run_not_found`), Failed (`run_damaged`) */
  constructor(runId: string, folder: string) {
    this.#runId = runId;
    this.#path = join(folder, logName);
    requireLogFile(runId, folder);
    this.#file = this.#open();
  }

  get run(): Run {
    if (this.#run === null) throw this.#damaged('event 1: there is none');
    return this.#run;
  }

  get size(): number {
    return this.#size;
  }

  /** Of the event at `seq`, which is not behind the last. `refresh` compared that of the last with the file. */
  hashOf(seq: number): string {
    if (seq === this.#run?.head.seq) return this.#run.head.hash;
    return seq === 0 ? beforeFirst.hash : this.#hashBefore(this.#starts[seq] ?? this.#size);
  }

  /** Brings the fold up to the file. Returns the number of bytes after the last whole line. */
  refresh(): number {
    const now = statSync(this.#path, { throwIfNoEntry: false });
    if (now === undefined) throw notFound(this.#runId);
    const size = now.ino === this.#file.inode ? now.size : this.#reopen();
    const editedInPlace = now.ctimeMs !== this.#changed && size === this.#size + this.#torn;
    if (size < this.#size || editedInPlace || !this.#endsWithHead()) this.#forget();
    if (size > this.#size) this.#readOn(size);
    if (this.#run === null) throw this.#damaged('event 1: the log holds no whole event');
    this.#torn = size - this.#size;
    this.#changed = now.ctimeMs;
    return this.#torn;
  }

  /** Events after `seq`, read from the file. */
  eventsAfter(seq: number): RunEvent[] {
    const start = this.#starts[seq];
    if (start === undefined) return [];
    return this.#parse(this.#bytes(start, this.#size), { seq, hash: this.hashOf(seq) }).events;
  }

  /** What lies behind the last whole line, left by a crash in the middle of a write; null when there is nothing. */
  torn(): Uint8Array | null {
    return this.#torn === 0 ? null : this.#bytes(this.#size, this.#size + this.#torn);
  }

  /**
   * One write and one fdatasync for all events, and then `acknowledge` of the last. When any of them fails the file is what it was before.
   * A torn line behind the last event is overwritten.
   */
  append(events: readonly NewEvent[], clock: string, acknowledge: (head: HeadMark) => void): Run {
    const { fd, writable } = this.#file;
    if (!writable) throw Object.assign(new Error(`${this.#path} is not writable`), { code: 'EACCES' });
    const before = this.run;
    const at = clock > before.updated_at ? clock : before.updated_at;
    const { lines, text } = writeLines(before.head, at, events);
    const after = foldMore(before, lines);
    const bytes = Buffer.from(text);
    try {
      writeAt(fd, bytes, this.#size);
      crashPoint('events_written');
      if (this.#torn > bytes.length) ftruncateSync(fd, this.#size + bytes.length);
      fdatasyncSync(fd);
      crashPoint('events_durable');
      acknowledge(lines.at(-1)!);
    } catch (error) {
      this.#takeBack();
      throw error;
    }
    this.#remember(bytes, bytes.length);
    this.#torn = 0;
    this.#changed = fstatSync(fd).ctimeMs;
    this.#run = after;
    return after;
  }

  close(): void {
    closeSync(this.#file.fd);
  }

  #open(): OpenFile {
    try {
      return openFile(this.#path, true);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') throw notFound(this.#runId);
      if (!['EACCES', 'EROFS', 'EPERM'].includes(codeOf(error))) throw error;
      return openFile(this.#path, false);
    }
  }

  /** The file was replaced, for example by a backup. Returns the size of the new one. */
  #reopen(): number {
    const file = this.#open();
    closeSync(this.#file.fd);
    this.#file = file;
    this.#forget();
    return fstatSync(file.fd).size;
  }

  #forget(): void {
    this.#size = 0;
    this.#starts = [];
    this.#run = null;
  }

  #endsWithHead(): boolean {
    return this.#run === null || this.#hashBefore(this.#size) === this.#run.head.hash;
  }

  #hashBefore(position: number): string {
    const from = position - closingBytes - hashBytes;
    return Buffer.from(this.#bytes(from, from + hashBytes)).toString('latin1');
  }

  #readOn(size: number): void {
    const from = this.#size;
    const bytes = this.#bytes(from, size);
    const { events, length } = this.#parse(bytes, this.#run?.head ?? beforeFirst);
    if (events.length === 0) return;
    this.#run = this.#run === null ? fold(this.#runId, events) : foldMore(this.#run, events);
    this.#remember(bytes, length);
  }

  /** Adds lines that the file holds behind those that are known. */
  #remember(bytes: Uint8Array, length: number): void {
    for (const { start } of wholeLines(bytes)) this.#starts.push(this.#size + start);
    this.#size += length;
  }

  #parse(bytes: Uint8Array, after: Head): { events: RunEvent[]; length: number } {
    const events: RunEvent[] = [];
    let head = after;
    let length = 0;
    for (const { line, start } of wholeLines(bytes)) {
      const event = this.#read(line, head);
      events.push(event);
      head = event;
      length = start + line.length + 1;
    }
    return { events, length };
  }

  #read(line: Uint8Array, head: Head): RunEvent {
    try {
      return readLine(line, head);
    } catch (error) {
      throw this.#damaged(`event ${head.seq + 1}: ${messageOf(error)}`, error);
    }
  }

  #bytes(from: number, to: number): Buffer {
    const bytes = Buffer.alloc(to - from);
    let length = 0;
    while (length < bytes.length) {
      const read = readSync(this.#file.fd, bytes, length, bytes.length - length, from + length);
      if (read === 0) break;
      length += read;
    }
    return bytes.subarray(0, length);
  }

  #takeBack(): void {
    try {
      ftruncateSync(this.#file.fd, this.#size);
      fdatasyncSync(this.#file.fd);
    } catch {
      // What is left behind the last whole line is found as torn and set aside by the next append.
    }
  }

  #damaged(what: string, cause?: unknown): Failed {
    return new Failed('run_damaged', `run ${this.#runId} cannot be read: ${logName}, ${what}`, {
      cause,
      hint: `./core verify ${this.#runId} says what was changed where, ./core recover ${this.#runId} how to go on.`,
    });
  }
}

interface OpenFile {
  readonly fd: number;
  readonly inode: number;
  readonly writable: boolean;
}

function openFile(path: string, writable: boolean): OpenFile {
  const fd = openSync(path, writable ? 'r+' : 'r');
  return { fd, inode: fstatSync(fd).ino, writable };
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
