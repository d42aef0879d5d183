import { closeSync, constants, openSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { runProgram } from '#kit/run-program.ts';
import { makeTemporaryFolder } from '#kit/temporary-folder.ts';

/**
 * A pipe. What Node calls one is a pair of sockets, and scripts that write to /dev/stdout or /dev/stderr cannot open
 * those.
 */
export async function openPipe(): Promise<{ reader: Readable; writer: number; closeWriter: () => void }> {
  const folder = makeTemporaryFolder('core-pipe-');
  try {
    const path = join(folder, 'pipe');
    const { exitCode, stderr } = await runProgram('mkfifo', ['-m', '600', path]);
    if (exitCode !== 0) throw new Error(stderr.trim());
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(path, constants.O_WRONLY);
    return {
      reader: new Socket({ fd: reader, readable: true, writable: false }),
      writer,
      closeWriter: () => closeSync(writer),
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * Runs `start` with entries for `stdio`, from index `first` on, that put /dev/null in the place of descriptors which this
 * process was started with and would hand on to every child.
 */
export function withoutInherited<T>(first: number, start: (stdio: (number | 'ignore')[]) => T): T {
  const unwanted = new Set(inherited());
  const last = Math.max(first - 1, ...unwanted);
  const nothing = openSync('/dev/null', constants.O_RDWR);
  try {
    const length = last - first + 1;
    return start(Array.from({ length }, (_, index) => (unwanted.has(first + index) ? nothing : 'ignore')));
  } finally {
    closeSync(nothing);
  }
}

const O_CLOEXEC = 0o2000000;

function inherited(): number[] {
  const folder = '/proc/self/fdinfo';
  try {
    return readdirSync(folder)
      .map(Number)
      .filter((fd) => !(flagsOf(`${folder}/${fd}`) & O_CLOEXEC));
  } catch {
    return [];
  }
}

function flagsOf(path: string): number {
  try {
    return Number.parseInt(/^flags:\s+(\d+)/m.exec(readFileSync(path, 'utf8'))?.[1] ?? '0', 8);
  } catch {
    return O_CLOEXEC;
  }
}

/**
 * Output of which at most `limit` bytes are kept: the head and the tail, with a line between them that says how much is
 * missing. What was done stands at the beginning of a log, what went wrong at its end.
 */
export class BoundedOutput {
  readonly #head: Buffer;
  /** A ring; its oldest byte is at `#tailBytes` modulo its length once it is full. */
  readonly #tail: Buffer;
  #headBytes = 0;
  #tailBytes = 0;

  constructor(limit: number) {
    this.#head = Buffer.allocUnsafe(Math.ceil(limit / 2));
    this.#tail = Buffer.allocUnsafe(limit - this.#head.length);
  }

  /** True if bytes were left out. */
  get truncated(): boolean {
    return this.#tailBytes > this.#tail.length;
  }

  add(chunk: Uint8Array): void {
    const first = chunk.subarray(0, this.#head.length - this.#headBytes);
    this.#head.set(first, this.#headBytes);
    this.#headBytes += first.length;
    const rest = chunk.subarray(first.length);
    if (rest.length === 0) return;
    const size = this.#tail.length;
    const last = rest.subarray(Math.max(0, rest.length - size));
    const start = size === 0 ? 0 : (this.#tailBytes + rest.length - last.length) % size;
    const untilEnd = last.subarray(0, size - start);
    this.#tail.set(untilEnd, start);
    this.#tail.set(last.subarray(untilEnd.length), 0);
    this.#tailBytes += rest.length;
  }

  bytes(): Uint8Array {
    const head = this.#head.subarray(0, this.#headBytes);
    if (!this.truncated) return Buffer.concat([head, this.#tail.subarray(0, this.#tailBytes)]);
    const size = this.#tail.length;
    const oldest = size === 0 ? 0 : this.#tailBytes % size;
    const gap = Buffer.from(`\n[${this.#tailBytes - size} bytes left out]\n`);
    return Buffer.concat([head, gap, this.#tail.subarray(oldest), this.#tail.subarray(0, oldest)]);
  }
}
