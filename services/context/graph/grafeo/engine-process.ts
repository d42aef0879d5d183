import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { guarded } from '#kit/callbacks.ts';
import { findProgram } from '#kit/find-program.ts';
import { type AnswerMessage, PendingCalls } from '../../record/thread.ts';
import type { Changes, GraphDigests, Position } from '../changes.ts';

/** What the process that holds the projection is asked, one message each. */
export interface Calls {
  /** Opens what the folder holds. @param beside another process that keeps the folder: nothing in it is touched */
  open: { input: { beside: boolean }; output: { position: Position | null } };
  /** Begins a new version of the projection. @param until numbers up to this one come for the first time when it is `fresh` */
  begin: { input: { fresh: boolean; until: number }; output: null };
  apply: { input: { changes: Changes }; output: null };
  /** Ends the new version; queries that come after it see it. */
  commit: { input: { position: Position }; output: null };
  /** Gives the new version up. */
  drop: { input: null; output: null };
  run: {
    input: { query: string; params: Readonly<Record<string, unknown>>; rows: number };
    output: { columns: string[]; rows: Record<string, unknown>[]; truncated: boolean };
  };
  digests: { input: null; output: GraphDigests };
}

export type CallName = keyof Calls;

export interface CallMessage<N extends CallName = CallName> {
  readonly id: number;
  readonly name: N;
  readonly input: Calls[N]['input'];
}

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const script = fileURLToPath(new URL('./child.ts', import.meta.url));

export interface CommandLine {
  readonly file: string;
  readonly args: readonly string[];
}

/** Nothing of the parent's environment, and enough threads that a slow query leaves some free. */
const childEnvironment = { PATH: '/usr/bin:/bin', UV_THREADPOOL_SIZE: '8' } as const;

export function plainCommand(folder: string): CommandLine {
  return { file: process.execPath, args: ['--max-old-space-size=256', script, folder] };
}

/**
 * The same in namespaces of its own: no network, and of the files only the program's and the projection's. null where bwrap(1) is not
 * installed. Reports the process's number on descriptor 4.
 */
export function isolatedCommand(folder: string): CommandLine | null {
  const bwrap = findProgram('bwrap');
  if (process.platform !== 'linux' || bwrap === null) return null;
  const node = realpathSync(process.execPath);
  const program = ['package.json', 'services', 'node_modules'].map((name) => join(root, name));
  // What is a link lies in both places: Node looks for packages where the link is.
  const readable = new Set([node, ...program, ...program.map((path) => realpathSync(path))]);
  const seen = [...readable].flatMap((path) => ['--ro-bind', realpathSync(path), path]);
  const system = ['/usr', '/lib', '/lib64', '/bin'].flatMap((path) => ['--ro-bind-try', path, path]);
  const { file: _node, args } = plainCommand(folder);
  return {
    file: bwrap,
    args: [
      ...[
        '--unshare-all',
        '--die-with-parent',
        '--as-pid-1',
        '--new-session',
        '--cap-drop',
        'ALL',
        '--info-fd',
        '4',
      ],
      ...[...system, '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', ...seen],
      ...['--bind', folder, folder, '--chdir', folder, '--', node, ...args],
    ],
  };
}

/** Why a process of the engine is gone: its parent ended it, or it ended by itself. */
export type EndReason = 'deadline' | 'memory' | 'retired' | 'crash';

/** The calls that waited are not answered; the caller finds out which of them was the cause. */
export class EngineEnded extends Error {
  readonly reason: EndReason;
  constructor(reason: EndReason, detail: string) {
    super(`the engine's process ended: ${detail}`);
    this.reason = reason;
  }
}

/** True for what Grafeo itself says of a call; its code is a GQLSTATUS, where there is one. */
export function isEngineFailure(error: unknown): error is Error {
  return error instanceof Error && error.name === engineFailure;
}

/** Its name on the way between the processes. */
export const engineFailure = 'EngineFailure';

/** One process of the engine, from its start to its end. */
export class EngineProcess {
  readonly #child: ChildProcess;
  readonly #calls = new PendingCalls();
  /** The process's own number where it runs in a namespace. */
  #inner: number | null = null;
  #reason: EndReason = 'crash';
  #ended: EngineEnded | null = null;
  #complaints = '';

  /** By Node's spawn: a process that answers its first query within a second does not load execa for 100 ms before. */
  constructor({ file, args }: CommandLine) {
    this.#child = spawn(file, args, {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe'],
      env: childEnvironment,
      cwd: '/',
    });
    this.#child.on(
      'message',
      guarded('the graph copy', (answer: AnswerMessage) => {
        this.#calls.settle(answer);
        if (this.load === 0) this.#hold(false);
      }),
    );
    this.#child.on(
      'error',
      guarded('the graph copy', (error) => this.#end(error.message)),
    );
    this.#child.on(
      'close',
      guarded('the graph copy', (code, signal) => this.#end(`${signal ?? code} ${this.#complaints}`.trim())),
    );
    const [, , complaints, , info] = this.#child.stdio as (Socket | null)[];
    complaints!.on(
      'data',
      guarded('the graph copy', (data) => {
        this.#complaints = `${this.#complaints}${data}`.slice(-500);
      }),
    );
    let text = '';
    info!.on(
      'data',
      guarded('the graph copy', (data) => {
        text += data;
        this.#inner = Number(/"child-pid": (\d+)/.exec(text)?.[1] ?? this.#inner) || null;
      }),
    );
    for (const stream of [complaints!, info!]) {
      stream.on('error', () => {});
      stream.unref();
    }
    this.#hold(false);
  }

  get ended(): boolean {
    return this.#ended !== null;
  }

  /** How many calls have no answer yet. */
  get load(): number {
    return this.#calls.size;
  }

  /** @throws EngineEnded, what `isEngineFailure`, and Core's own errors */
  call<N extends CallName>(name: N, input: Calls[N]['input']): Promise<Calls[N]['output']> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    this.#hold(true);
    return this.#calls.start((id) =>
      this.#child.send({ id, name, input }, (error) => {
        if (error !== null) this.#stop('crash', error.message);
      }),
    );
  }

  /** Resident megabytes; null where the system has no figure. */
  memory(): number | null {
    try {
      const pages = readFileSync(`/proc/${this.#inner ?? this.#child.pid}/statm`, 'utf8').split(' ')[1];
      return (Number(pages) * 4096) / 1e6;
    } catch {
      return null;
    }
  }

  /** Ends it at once, whatever it does. */
  kill(reason: EndReason): void {
    this.#stop(reason, reason);
  }

  #stop(reason: EndReason, detail: string): void {
    if (this.#ended !== null) return;
    this.#reason = reason;
    if (this.#inner !== null) endQuietly(this.#inner);
    this.#child.kill('SIGKILL');
    this.#end(detail);
  }

  #end(detail: string): void {
    this.#ended ??= new EngineEnded(this.#reason, detail);
    this.#calls.rejectAll(this.#ended);
    this.#hold(false);
  }

  /** Only calls that wait keep the service's process alive. */
  #hold(alive: boolean): void {
    for (const part of [this.#child, this.#child.channel]) {
      if (alive) part?.ref();
      else part?.unref();
    }
  }
}

function endQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}
