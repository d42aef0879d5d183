import { type ChildProcess, spawn } from 'node:child_process';
import { statfsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Failed, messageOf } from '#kit/errors.ts';
import type { SandboxResult, SandboxRun } from '../../execution/sandbox.ts';
import { BoundedOutput } from './bounded-output.ts';
import { openPipe, withoutInherited } from './descriptors.ts';
import type { Process } from './processes.ts';

/** One started sandbox, as its adapter knows it. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Bytes that the program reads from its descriptor 4. */
  readonly input?: Uint8Array | null;
  /** What looks after the processes inside, made once the program has a pid. */
  inside(child: ChildProcess, status: () => string): Inside;
}

export interface Inside {
  processes(): Process[];
  /** Bytes of memory that `process` uses, its share of what is shared. */
  exactBytes(process: Process): number;
  /** Bytes in file systems that live in memory. */
  temporaryBytes(): number;
  /** Ends every process, also those that left their group. Called until `gone`. */
  kill(): void;
  gone(): boolean;
}

export interface Supervised extends SandboxResult {
  /** Whether a limit or a cancellation ended it. */
  readonly stopped: boolean;
  /** What the program wrote to descriptor 3: how far it came. */
  readonly status: string;
  /** What the sandbox itself said on standard error. */
  readonly complaint: string;
}

type End = { readonly by: SandboxResult['ended_by']; readonly note: string };

const pollMs = 100;
/** A run is ended before it fills the disk that Core's own records need: with this left, or half of what it found. */
const diskReserve = 256 * 1024 * 1024;
/** How long dying processes may take before that is an error. */
const deathMs = 20_000;

/** Runs a sandbox within its limits; when it returns nothing of it is left. */
export async function supervise(launch: Launch, run: SandboxRun): Promise<Supervised> {
  const began = performance.now();
  const output = new BoundedOutput(run.limits.output_bytes);
  let delivered = 0;
  let end: End | null = null;

  const reserve = Math.min(diskReserve, freeBytes(run.workspace) / 2);
  const pipe = await openPipe();
  const child = withoutInherited(5, (rest) =>
    spawn(launch.file, launch.args, {
      env: launch.env,
      cwd: launch.cwd,
      detached: true,
      stdio: ['ignore', pipe.writer, 'pipe', 'pipe', launch.input ? 'pipe' : 'ignore', ...rest],
    }),
  );
  pipe.closeWriter();
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const drained = new Promise<void>((resolve) => pipe.reader.once('close', () => resolve()));
  const complaint = collect(child.stderr!, 64 * 1024);
  const status = collect(child.stdio[3] as Readable, 64 * 1024);
  const inside = launch.inside(child, () => status().text);

  pipe.reader.on('data', (chunk: Buffer) => {
    output.add(chunk);
    const room = run.limits.output_bytes - delivered;
    if (room > 0) {
      const part = chunk.subarray(0, room);
      delivered += part.length;
      run.onOutput?.(part);
      return;
    }
    // Nobody sees this any more; an endless writer shall not keep this process busy.
    pipe.reader.pause();
    setTimeout(() => pipe.reader.resume(), 1).unref();
  });
  if (launch.input) {
    const input = child.stdio[4] as Writable;
    input.on('error', () => {});
    input.end(launch.input);
  }

  function stop(reason: End): void {
    end ??= reason;
    inside.kill();
  }
  function cancel(): void {
    stop({ by: 'cancelled', note: 'cancelled' });
  }
  const { seconds } = run.limits;
  const timer = setTimeout(
    () => stop({ by: 'timeout', note: `ended after ${seconds} seconds, the limit` }),
    seconds * 1000,
  );
  const poll = setInterval(() => {
    const broken = end ?? brokenLimit(inside, run, reserve);
    if (broken) stop(broken);
  }, pollMs);
  child.once('exit', () => inside.kill());
  run.signal?.addEventListener('abort', cancel);
  if (run.signal?.aborted) cancel();

  try {
    const code = await ended.catch((cause: unknown) => {
      throw new Failed('sandbox_failed', `${launch.file} did not start: ${messageOf(cause)}`, { cause });
    });
    await untilGone(inside, launch.file);
    await drained;
    const reason = end as End | null;
    if (reason) output.add(Buffer.from(`\n[core: ${reason.note}]\n`));
    return {
      exit_code: reason ? null : code,
      ended_by: reason?.by ?? (code === null ? 'signal' : 'exit'),
      output: output.bytes(),
      truncated: output.truncated,
      duration_ms: Math.round(performance.now() - began),
      stopped: reason !== null,
      status: status().text,
      complaint: complaint().text.trim(),
    };
  } finally {
    clearTimeout(timer);
    clearInterval(poll);
    run.signal?.removeEventListener('abort', cancel);
    pipe.reader.destroy();
  }
}

/** What a run that was cancelled before it began comes back as. */
export function cancelledResult(): SandboxResult {
  return {
    exit_code: null,
    ended_by: 'cancelled',
    output: Buffer.alloc(0),
    truncated: false,
    duration_ms: 0,
  };
}

function brokenLimit(inside: Inside, run: SandboxRun, reserve: number): End | null {
  const processes = inside.processes();
  const { processes: allowed, memory_mib } = run.limits;
  if (processes.length > allowed) {
    return { by: 'signal', note: `ended for having more than ${allowed} processes, the limit` };
  }
  const bytes = memory_mib * 1024 * 1024;
  if (usedMemory(inside, processes, bytes) > bytes) {
    return { by: 'memory', note: `ended for using more than ${memory_mib} MiB of memory, the limit` };
  }
  if (freeBytes(run.workspace) < reserve) {
    return { by: 'signal', note: 'ended because the disk is nearly full' };
  }
  return null;
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Cheap and too high first; exact only when that is past the limit. */
function usedMemory(inside: Inside, processes: readonly Process[], limit: number): number {
  const temporary = inside.temporaryBytes();
  const upper = processes.reduce((sum, { resident }) => sum + resident, temporary);
  if (upper <= limit) return upper;
  return processes.reduce((sum, process) => sum + inside.exactBytes(process), temporary);
}

async function untilGone(inside: Inside, file: string): Promise<void> {
  const deadline = performance.now() + deathMs;
  while (!inside.gone()) {
    inside.kill();
    if (performance.now() > deadline) {
      throw new Failed('sandbox_survived', `processes started by ${file} cannot be ended`, {
        hint: 'They wait in the kernel, mostly for a disk or a network file system; look at them with ps.',
      });
    }
    await delay(5);
  }
}

function collect(stream: Readable, limit: number): () => { text: string } {
  const output = new BoundedOutput(limit);
  stream.on('data', (chunk: Buffer) => output.add(chunk));
  stream.on('error', () => {});
  return () => ({ text: Buffer.from(output.bytes()).toString('utf8') });
}
