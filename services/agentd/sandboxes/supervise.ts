import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { guarded } from '#kit/callbacks.ts';
import { type ControlGroup, controlGroups } from '#kit/control-groups.ts';
import { Failed, messageOf } from '#kit/errors.ts';
import type { SandboxResult, SandboxRun } from '../ports/sandbox.ts';
import { threadsPerProcess } from './command-line.ts';
import { BoundedOutput, openPipe, withoutInherited } from './output.ts';
import { folderBytes, namelessBytes, type Process } from './processes.ts';
import { defaultStreamBytes, interactiveStreams } from './streams.ts';

/** One started sandbox, as its adapter knows it. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Bytes that the program reads from its descriptors from `inputDescriptor` on, one each. */
  readonly inputs?: readonly Uint8Array[];
  /** What looks after the processes inside, made once the program has a pid. */
  inside(child: ChildProcess, status: () => string): Inside;
}

export const inputDescriptor = 5;

export interface Inside {
  /** The file system that names them by the pids of `processes`. */
  proc(): string;
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
  /** What the program wrote to descriptor 3: how far it came. */
  readonly status: string;
  /** What the sandbox itself said on standard error. */
  readonly complaint: string;
}

type End = { readonly by: SandboxResult['ended_by']; readonly note: string };

const pollMs = 100;
/** How often at most the workspace and open files are measured; less often where that takes long. */
const measureMs = 500;
/** A run is ended before it takes the disk or the memory that Core itself needs: with this left, or half of what it found. */
const reserveBytes = 256 * 1024 * 1024;
/** How long dying processes may take before that is an error. */
const deathMs = 20_000;

/** Runs a sandbox within its limits; when it returns nothing of it is left. */
export async function supervise(launch: Launch, run: SandboxRun): Promise<Supervised> {
  const began = performance.now();
  const output = new BoundedOutput(run.limits.output_bytes);
  let delivered = 0;
  let end: End | null = null;
  let over = false;

  const found = freeBytes(run.workspace);
  const reserve = { disk: Math.min(reserveBytes, found / 2), memory: Math.min(reserveBytes, freemem() / 2) };
  const group = await makeControlGroup(run);
  const [file, ...args] = [...(group?.joinCommand ?? []), launch.file, ...launch.args];
  const pipe = await openPipe();
  const { inputs = [] } = launch;
  const streams: StdioOptions = run.interactive
    ? ['pipe', 'pipe', 'pipe', 'pipe', pipe.writer]
    : ['ignore', pipe.writer, 'pipe', 'pipe', 'ignore'];
  const child = withoutInherited(inputDescriptor + inputs.length, (rest) =>
    spawn(file!, args, {
      env: launch.env,
      cwd: launch.cwd,
      detached: true,
      stdio: [...streams, ...inputs.map(() => 'pipe' as const), ...rest],
    }),
  );
  pipe.closeWriter();
  const ended = Promise.all([
    new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', resolve);
    }),
    ...[child.stderr!, child.stdio[3] as Readable].map(closed),
  ]).then(([code]) => code);
  const drained = closed(pipe.reader);
  const complaint = collect(child.stderr!, 64 * 1024);
  const status = collect(child.stdio[3] as Readable, 64 * 1024);
  const inside = launch.inside(child, () => status().text);

  function keep(chunk: Uint8Array): void {
    output.add(chunk);
    const part = chunk.subarray(0, Math.max(0, run.limits.output_bytes - delivered));
    delivered += part.length;
    if (part.length > 0) run.onOutput?.(part);
  }
  pipe.reader.on(
    'data',
    guarded(
      'a sandbox',
      (chunk: Buffer) => {
        keep(run.filter?.push(chunk) ?? chunk);
        if (delivered < run.limits.output_bytes) return;
        // Nobody sees this any more; an endless writer shall not keep this process busy.
        pipe.reader.pause();
        setTimeout(() => pipe.reader.resume(), 1).unref();
      },
      endUnwatched,
    ),
  );
  for (const [index, bytes] of inputs.entries()) {
    const input = child.stdio[inputDescriptor + index] as Writable;
    input.on('error', () => {});
    input.end(bytes);
  }

  function stop(reason: End): void {
    end ??= reason;
    inside.kill();
  }
  function endUnwatched(error: unknown): void {
    stop({ by: 'signal', note: `ended because its limits cannot be checked: ${messageOf(error)}` });
  }
  const cancel = guarded('a sandbox', () => stop({ by: 'cancelled', note: 'cancelled' }));
  const { seconds, stream_bytes = defaultStreamBytes } = run.limits;
  const flood = `ended for writing more than ${stream_bytes} bytes to its standard output, the limit`;
  const interactive = run.interactive
    ? interactiveStreams(child, stream_bytes, () => stop({ by: 'signal', note: flood }))
    : null;
  const timer = setTimeout(
    guarded('a sandbox', () => stop({ by: 'timeout', note: `ended after ${seconds} seconds, the limit` })),
    seconds * 1000,
  );
  const poll = setInterval(
    guarded(
      'a sandbox',
      () => {
        const broken = end ?? brokenLimit(inside, run, reserve, group, nameless);
        if (broken) stop(broken);
      },
      endUnwatched,
    ),
    pollMs,
  );
  let nameless = 0;
  let measuring = setTimeout(guarded('a sandbox', measure, endUnwatched), measureMs);
  async function measure(): Promise<void> {
    const start = performance.now();
    const open = namelessBytes(inside.proc(), inside.processes(), run.workspace);
    const { bytes, complete } = await folderBytes(run.workspace);
    nameless = open.memory;
    const used = Math.max(bytes + open.disk, complete ? 0 : found - freeBytes(run.workspace));
    const { disk_mib } = run.limits;
    if (used > disk_mib * 1024 * 1024) {
      stop({ by: 'signal', note: `ended for writing more than ${disk_mib} MiB to the workspace, the limit` });
    }
    if (!over)
      measuring = setTimeout(
        guarded('a sandbox', measure, endUnwatched),
        Math.max(measureMs, 10 * (performance.now() - start)),
      );
  }
  child.once('exit', () => inside.kill());
  run.signal?.addEventListener('abort', cancel);
  if (run.signal?.aborted) cancel();

  try {
    if (interactive) run.interactive?.(interactive.streams);
    const code = await ended.catch((cause: unknown) => {
      throw new Failed('sandbox_failed', `${launch.file} did not start: ${messageOf(cause)}`, { cause });
    });
    await untilGone(inside, launch.file);
    await drained;
    await interactive?.close();
    if (run.filter) keep(run.filter.end());
    if (group?.ranOutOfMemory()) end ??= outOfMemory(run);
    const reason = end as End | null;
    if (reason) output.add(Buffer.from(`\n[core: ${reason.note}]\n`));
    return {
      exit_code: reason ? null : code,
      ended_by: reason?.by ?? (code === null ? 'signal' : 'exit'),
      note: reason?.note ?? null,
      output: output.bytes(),
      truncated: output.truncated,
      duration_ms: Math.round(performance.now() - began),
      status: status().text,
      complaint: complaint().text.trim(),
    };
  } finally {
    over = true;
    clearTimeout(timer);
    clearTimeout(measuring);
    clearInterval(poll);
    await group?.remove();
    run.signal?.removeEventListener('abort', cancel);
    pipe.reader.destroy();
  }
}

/** What a run that was cancelled before it began comes back as. */
export function cancelledResult(): SandboxResult {
  return {
    exit_code: null,
    ended_by: 'cancelled',
    note: 'cancelled',
    output: Buffer.alloc(0),
    truncated: false,
    duration_ms: 0,
  };
}

/** Where the kernel keeps account, it keeps the limit too; else what can be seen of the memory is added up here. */
async function makeControlGroup({ limits }: SandboxRun): Promise<ControlGroup | null> {
  const groups = await controlGroups();
  if (!groups.works) return null;
  const tasks = limits.processes * threadsPerProcess;
  return groups.make({ bytes: limits.memory_mib * 1024 * 1024, tasks });
}

function outOfMemory({ limits }: SandboxRun): End {
  return { by: 'memory', note: `ended for using more than ${limits.memory_mib} MiB of memory, the limit` };
}

function brokenLimit(
  inside: Inside,
  run: SandboxRun,
  reserve: { readonly disk: number; readonly memory: number },
  group: ControlGroup | null,
  nameless: number,
): End | null {
  const processes = inside.processes();
  const { processes: allowed, memory_mib } = run.limits;
  if (processes.length > allowed) {
    return { by: 'signal', note: `ended for having more than ${allowed} processes, the limit` };
  }
  const bytes = memory_mib * 1024 * 1024;
  if (group ? group.ranOutOfMemory() : nameless + usedMemory(inside, processes, bytes - nameless) > bytes) {
    return outOfMemory(run);
  }
  if (freemem() < reserve.memory) {
    return { by: 'memory', note: 'ended because the memory of this machine is nearly used up' };
  }
  if (freeBytes(run.workspace) < reserve.disk) {
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

function closed(stream: Readable): Promise<void> {
  return new Promise((resolve) => stream.once('close', () => resolve()));
}

function collect(stream: Readable, limit: number): () => { text: string } {
  const output = new BoundedOutput(limit);
  stream.on(
    'data',
    guarded('a sandbox', (chunk: Buffer) => output.add(chunk)),
  );
  stream.on('error', () => {});
  return () => ({ text: Buffer.from(output.bytes()).toString('utf8') });
}
