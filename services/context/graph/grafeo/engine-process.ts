import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { type CommandLine, childEnvironment } from './isolation.ts';
import type { AnswerMessage, CallFailure, CallName, Calls } from './messages.ts';

/** Why a process of the engine is gone: its parent ended it, or it ended by itself. */
export type EndReason = 'deadline' | 'memory' | 'retired' | 'crash';

/** The calls that waited are not answered; whether they are the cause is the caller's to find out. */
export class EngineEnded extends Error {
  readonly reason: EndReason;
  constructor(reason: EndReason, detail: string) {
    super(`the engine's process ended: ${detail}`);
    this.reason = reason;
  }
}

/** What the engine's process says of a call. */
export class EngineFailure extends Error {
  readonly failure: CallFailure;
  constructor(failure: CallFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

interface Waiting {
  readonly resolve: (output: never) => void;
  readonly reject: (error: Error) => void;
}

/** One process of the engine, from its start to its end. */
export class EngineProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  /** The process's own number where it runs in a namespace. */
  #inner: number | null = null;
  #next = 1;
  #reason: EndReason = 'crash';
  #ended: EngineEnded | null = null;
  #complaints = '';

  constructor({ file, args }: CommandLine) {
    this.#child = spawn(file, args, {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe'],
      env: childEnvironment,
      cwd: '/',
    });
    this.#child.on('message', (answer: AnswerMessage) => this.#settle(answer));
    this.#child.on('error', (error) => this.#end(error.message));
    this.#child.on('close', (code, signal) => this.#end(`${signal ?? code} ${this.#complaints}`.trim()));
    const [, , complaints, , info] = this.#child.stdio as (Socket | null)[];
    complaints!.on('data', (data) => {
      this.#complaints = `${this.#complaints}${data}`.slice(-500);
    });
    let text = '';
    info!.on('data', (data) => {
      text += data;
      this.#inner = Number(/"child-pid": (\d+)/.exec(text)?.[1] ?? this.#inner) || null;
    });
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
    return this.#waiting.size;
  }

  /** @throws EngineEnded, EngineFailure */
  call<N extends CallName>(name: N, input: Calls[N]['input']): Promise<Calls[N]['output']> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const id = this.#next++;
    this.#hold(true);
    return new Promise<Calls[N]['output']>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, name, input }, (error) => {
        if (error !== null) this.#stop('crash', error.message);
      });
    });
  }

  /** Resident megabytes; null where the system does not tell. */
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

  #settle(answer: AnswerMessage): void {
    this.#settleOne(answer.id, ({ resolve, reject }) => {
      if ('failure' in answer) reject(new EngineFailure(answer.failure));
      else resolve(answer.output as never);
    });
  }

  #settleOne(id: number, settle: (waiting: Waiting) => void): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#hold(false);
    if (waiting !== undefined) settle(waiting);
  }

  #end(detail: string): void {
    this.#ended ??= new EngineEnded(this.#reason, detail);
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
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
