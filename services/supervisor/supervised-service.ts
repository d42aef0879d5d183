import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { guarded } from '#kit/callbacks.ts';
import { type StackNote, type SupervisedNote, stackNoteName } from '#kit/contracts/stack-note.ts';
import { replaceNote } from '#kit/durable-file.ts';
import { childEnvironment } from '#kit/environment.ts';
import { exitCodes, messageOf } from '#kit/errors.ts';
import { nodeFlags } from '#kit/node-flags.ts';
import { thisProcess } from '#kit/storage/process-identity.ts';
import { supervisorMessageIn } from '#kit/supervisor-channel.ts';

export interface ServiceDefinition {
  readonly name: string;
  /** Script and arguments for Node. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Where its HTTP interface is, for who reads the note; null where it has none. */
  readonly url: string | null;
}

interface ServiceListener {
  /** One line of its log. */
  line(text: string): void;
  /** It ended by itself; `again` in how many milliseconds it is started again, null where it is not. */
  ended(why: string, again: number | null): void;
  /** `note` says something new. */
  changed(): void;
}

const minWaitMs = 500;
const maxWaitMs = 30_000;
/** During the first minute of failures: what it needs may just be restarting too. */
const maxEagerWaitMs = 1_800;
const eagerFor = 60_000;
/** After so long a life, in milliseconds, the next wait is `minWaitMs` again. */
const longLife = 60_000;
const maxFailures = 5;
const noProcess = { pid: null, bus_connected: null };

/**
 * A service in a process and process group of its own, started again when it ends by itself. It does not hear the
 * terminal's Ctrl-C, so that it is ended in order, and it ends when this process is gone, because its channel breaks.
 */
export class SupervisedService {
  readonly #definition: ServiceDefinition;
  readonly #listener: ServiceListener;
  #child: ChildProcess | null = null;
  #stopping = false;
  #answered = false;
  #failures = 0;
  /** Of the first of these failures, by the monotonic clock. */
  #failingSince = 0;
  #timer: NodeJS.Timeout | undefined;
  #note: SupervisedNote;
  #gaveUp: (exitCode: number) => void = () => {};
  #spoke: () => void = () => {};
  #word!: Promise<void>;
  /** Resolves with an exit code when it will not be started again. */
  readonly gaveUp: Promise<number>;

  constructor(definition: ServiceDefinition, listener: ServiceListener) {
    this.#definition = definition;
    const { url } = definition;
    this.#note = {
      state: 'waiting',
      pid: null,
      since: now(),
      restarts: 0,
      last_end: null,
      url,
      bus_connected: null,
    };
    this.#listener = listener;
    this.gaveUp = new Promise((resolve) => {
      this.#gaveUp = resolve;
    });
    this.#awaitWord();
  }

  get name(): string {
    return this.#definition.name;
  }

  get note(): SupervisedNote {
    return this.#note;
  }

  /** Resolves when it says next how it is. */
  get word(): Promise<void> {
    return this.#word;
  }

  /** It did its work once, so that whatever ends it later is worth another start, always. */
  answered(): void {
    this.#answered = true;
  }

  /** By Node's spawn: loading execa takes 100 ms of processor time, a fifth of what the stack's start may take. */
  start(): void {
    const { args, environment } = this.#definition;
    const started = performance.now();
    const child = spawn(process.execPath, [...nodeFlags, ...args], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: childEnvironment(environment),
    });
    this.#child = child;
    this.#update({ state: 'running', pid: child.pid ?? null });
    this.#relay(child.stdout!);
    this.#relay(child.stderr!);
    child.on(
      'message',
      guarded('a supervised service', (message) => {
        const word = supervisorMessageIn(message);
        if (word === null || this.#child !== child) return;
        if ('bus_connected' in word) this.#update(word);
        this.#spoke();
        this.#awaitWord();
      }),
    );
    child.once(
      'error',
      guarded('a supervised service', (error) => this.#listener.line(error.message)),
    );
    child.once(
      'close',
      guarded('a supervised service', (code, signal) => {
        this.#child = null;
        if (!this.#stopping) this.#endedByItself(code, signal, performance.now() - started);
      }),
    );
  }

  /** Asks it to end; after the deadline its whole process group is ended. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    const child = this.#child;
    if (child === null) return;
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
    child.kill('SIGTERM');
    const timer = setTimeout(() => this.kill(), deadlineMs);
    await closed;
    clearTimeout(timer);
  }

  /** Ends it and everything in its process group at once. */
  kill(): void {
    this.#stopping = true;
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      this.#child?.kill('SIGKILL');
    }
  }

  #awaitWord(): void {
    this.#word = new Promise((resolve) => {
      this.#spoke = resolve;
    });
  }

  #relay(stream: Readable): void {
    createInterface({ input: stream }).on(
      'line',
      guarded('a supervised service', (line) => this.#listener.line(line)),
    );
  }

  #endedByItself(code: number | null, signal: NodeJS.Signals | null, lived: number): void {
    const why = signal === null ? `exit status ${code}` : signal;
    this.#failures = lived > longLife ? 1 : this.#failures + 1;
    if (this.#failures === 1) this.#failingSince = performance.now();
    // A wrong setting or a refusal will be the same the next time.
    const hopeless = code === exitCodes.usage || code === exitCodes.refused;
    // Where something that it needs does not answer, it is worth another start for as long as that takes.
    const isItself = code !== exitCodes.unavailable;
    if (hopeless || (isItself && !this.#answered && this.#failures >= maxFailures)) {
      this.#update({ state: 'given_up', ...noProcess, last_end: why });
      this.#listener.ended(why, null);
      this.#gaveUp(code || exitCodes.failed);
      return;
    }
    const maxMs = performance.now() - this.#failingSince < eagerFor ? maxEagerWaitMs : maxWaitMs;
    const wait = Math.min(minWaitMs * 2 ** (this.#failures - 1), maxMs);
    this.#update({ state: 'waiting', ...noProcess, last_end: why, restarts: this.#note.restarts + 1 });
    this.#listener.ended(why, wait);
    this.#timer = setTimeout(
      guarded(
        'a supervised service',
        () => this.start(),
        (error) => {
          this.#listener.line(messageOf(error));
          this.#endedByItself(1, null, 0);
        },
      ),
      wait,
    );
  }

  #update(change: Partial<SupervisedNote>): void {
    const since = change.state === undefined ? this.#note.since : now();
    this.#note = { ...this.#note, ...change, since };
    this.#listener.changed();
  }
}

function now(): string {
  return new Date().toISOString();
}

/** What the supervisor says of its children, rewritten soon after each change, for `core-status`. */
export class StackNoteFile {
  readonly #path: string;
  readonly #services: readonly Pick<SupervisedService, 'name' | 'note'>[];
  readonly #fixed: Pick<StackNote, 'holder' | 'since' | 'left'>;
  readonly #warn: (text: string) => void;
  #planned: NodeJS.Immediate | null = null;

  constructor(options: {
    readonly folder: string;
    readonly services: readonly Pick<SupervisedService, 'name' | 'note'>[];
    readonly left: readonly { readonly name: string; readonly why: string }[];
    readonly warn: (text: string) => void;
  }) {
    const { folder, services, left, warn } = options;
    this.#path = join(folder, stackNoteName);
    this.#services = services;
    this.#warn = warn;
    this.#fixed = {
      holder: thisProcess(),
      since: new Date().toISOString(),
      left: Object.fromEntries(left.map(({ name, why }) => [name, why])),
    };
  }

  /** Changes of one turn are written together. */
  changed(): void {
    this.#planned ??= setImmediate(
      guarded('a supervised service', () => {
        this.#planned = null;
        this.#write();
      }),
    );
  }

  withdraw(): void {
    if (this.#planned !== null) clearImmediate(this.#planned);
    rmSync(this.#path, { force: true });
  }

  #write(): void {
    const services = Object.fromEntries(this.#services.map(({ name, note }) => [name, note]));
    const note: StackNote = { ...this.#fixed, services };
    try {
      replaceNote(this.#path, `${JSON.stringify(note)}\n`);
    } catch (error) {
      this.#warn(`${this.#path} cannot be written, so that core-status knows less: ${messageOf(error)}`);
    }
  }
}
