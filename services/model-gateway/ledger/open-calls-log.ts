import {
  closeSync,
  fdatasync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { Failed } from '#kit/errors.ts';
import type { OpenCall } from './call-rows.ts';

interface Part {
  readonly path: string;
  readonly fd: number;
  size: number;
  syncedSize: number;
  /** Those in it that are not in the ledger yet. */
  readonly calls: Set<number>;
}

const partName = /^open-calls-(\d{1,12})\.jsonl$/;
/** Bytes after which another part begins, so that the first can go when its calls have ended. */
const largestPart = 1024 * 1024;

/**
 * Calls under way, a line for each, written before the call is made: a line costs a fraction of a commit. Who ended comes into
 * the ledger, and a part goes when all of it is there. After an end that was not orderly the parts tell who was cut off.
 */
export class OpenCallsLog {
  readonly #folder: string;
  readonly #parts = new Set<Part>();
  #current: Part | null = null;
  #next: number;

  /** @param next number of the first part, higher than all that are there */
  constructor(folder: string, next: number) {
    this.#folder = folder;
    this.#next = next;
  }

  /** Writes all of them or none. @throws what the system says */
  append(calls: readonly OpenCall[]): void {
    const part = this.#writable();
    const bytes = Buffer.from(calls.map(lineOf).join(''));
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(part.fd, bytes, written);
    } catch (error) {
      this.#takeBack(part);
      throw error;
    }
    part.size += bytes.length;
    for (const { id } of calls) part.calls.add(id);
  }

  /** These are in the ledger, and on the disk there. */
  forget(ids: readonly number[]): void {
    for (const part of this.#parts) {
      for (const id of ids) part.calls.delete(id);
      if (part.calls.size > 0) continue;
      if (part !== this.#current) this.#remove(part);
      else if (part.size > 0) {
        ftruncateSync(part.fd, 0);
        part.size = 0;
        part.syncedSize = 0;
      }
    }
  }

  /** Brings it to the disk, off the event loop; what fails is tried again by the next one. */
  async sync(): Promise<void> {
    for (const part of [...this.#parts]) {
      const { fd, size, syncedSize } = part;
      if (size === syncedSize) continue;
      const problem = await new Promise((resolve) => fdatasync(fd, resolve));
      if (problem === null) part.syncedSize = size;
    }
  }

  /** Parts with calls that did not end stay for the next start. */
  close(): void {
    this.#current = null;
    this.forget([]);
    for (const { fd } of this.#parts) closeSync(fd);
    this.#parts.clear();
  }

  #writable(): Part {
    if (this.#current !== null && this.#current.size < largestPart) return this.#current;
    const path = join(this.#folder, `open-calls-${this.#next}.jsonl`);
    const part: Part = { path, fd: openSync(path, 'ax', 0o600), size: 0, syncedSize: 0, calls: new Set() };
    this.#next++;
    this.#parts.add(part);
    this.#current = part;
    return part;
  }

  /** Half a line may only be the last of a part. */
  #takeBack(part: Part): void {
    try {
      ftruncateSync(part.fd, part.size);
    } catch {
      this.#current = null;
    }
  }

  #remove(part: Part): void {
    this.#parts.delete(part);
    closeSync(part.fd);
    rmSync(part.path, { force: true });
  }
}

export interface FoundOpenCalls {
  readonly calls: readonly OpenCall[];
  readonly paths: readonly string[];
  /** Number for the next part. */
  readonly next: number;
}

/** What the last end left. Of a line without its end the call was never made. @throws Failed (`ledger_damaged`) */
export function findOpenCalls(folder: string): FoundOpenCalls {
  const numbers = readdirSync(folder)
    .flatMap((name) => partName.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
  const paths = numbers.map((number) => join(folder, `open-calls-${number}.jsonl`));
  // Of a call that is there twice, more was set aside later.
  const calls = new Map(paths.flatMap(callsIn).map((call) => [call.id, call]));
  return { calls: [...calls.values()], paths, next: (numbers.at(-1) ?? 0) + 1 };
}

function callsIn(path: string): OpenCall[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line, index) => {
    const call = callOf(line);
    if (call !== null) return call;
    throw new Failed('ledger_damaged', `${path} is damaged: line ${index + 1} is no call`, {
      facts: { path },
      hint: 'Move it away; the calls that are in it are then not counted.',
    });
  });
}

function lineOf({ id, account, model, upstream, inputTokens, outputTokens, reserved }: OpenCall): string {
  const { key, run } = account;
  return `${JSON.stringify([id, key, run, model, upstream, inputTokens, outputTokens, reserved])}\n`;
}

function callOf(line: string): OpenCall | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (!Array.isArray(value)) return null;
  const [id, key, run, model, upstream, inputTokens, outputTokens, reserved] = value;
  const texts = [key, run ?? '', model, upstream].every((one) => typeof one === 'string');
  const numbers = [id, inputTokens, outputTokens, reserved].every((one) => Number.isSafeInteger(one));
  if (!texts || !numbers) return null;
  const account = { key, run, models: null, budget: null };
  return { id, account, model, upstream, inputTokens, outputTokens, reserved };
}
