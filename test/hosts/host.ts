import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '#kit/environment.ts';
import { atExit } from '../fixtures/at-exit.ts';
import { until } from '../fixtures/until.ts';
import { core } from '../fixtures/world/core-command.ts';
import type { HostNetwork } from './network.ts';

export const ports = { agentd: 7817, models: 8092, bridge: 8093, context: 8090 } as const;
/** Where each host finds the core-context that is active. */
export const contextProxyPort = 8190;
export type Port = keyof typeof ports;

export interface HostOptions {
  readonly name: string;
  readonly network: HostNetwork;
  /** Of the whole trial. */
  readonly folder: string;
  readonly diskMib: number;
  /** How wrong its clock is. */
  readonly skewMs: number;
  /** Where its processes note what they append. */
  readonly history: string;
  /** Where core-context is on each host. */
  readonly contexts: readonly string[];
}

const proxyProgram = fileURLToPath(new URL('context-proxy.ts', import.meta.url));

/** `./core up` with a disk, a network, a clock, a name and processes of its own. */
export class Host {
  readonly name: string;
  /** Its disk as this machine sees it. */
  readonly disk: string;
  readonly address: string;
  readonly #options: HostOptions;
  readonly #closed: () => void;
  #up: ChildProcess | null = null;

  constructor(options: HostOptions) {
    const { name, network, folder, diskMib } = options;
    this.name = name;
    this.address = network.addressOf(name);
    this.#options = options;
    this.disk = join(folder, 'disks', name);
    for (const path of [this.disk, this.place, join(folder, 'logs')]) mkdirSync(path, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMib}m,mode=700`, 'none', this.disk]);
    this.#closed = atExit(() => this.close());
    for (const path of ['home', 'tmp']) mkdirSync(join(this.disk, path));
  }

  /** Where the host itself sees its disk: the same path on all of them. */
  get place(): string {
    return join(this.#options.folder, 'host');
  }

  get home(): string {
    return join(this.disk, 'home');
  }

  url(port: Port): string {
    return `http://${this.address}:${ports[port]}`;
  }

  boot(): void {
    const { network, name, folder, history, skewMs, contexts } = this.#options;
    const fixture = (file: string) =>
      `--import=${new URL(`../fixtures/history/${file}`, import.meta.url).href}`;
    const log = openSync(join(folder, 'logs', `${name}.log`), 'a');
    const script = `mount --bind "$1" "$2" && hostname "$3" || exit
      env --unset NODE_OPTIONS "$5" "$6" ${contextProxyPort} ${contexts.join(' ')} &
      exec "$4" up --home "$2/home"`;
    const namespaces = ['--mount', '--pid', '--uts', '--fork', '--kill-child', '--mount-proc'];
    const [program, ...enter] = network.enter(name);
    const args = ['unshare', ...namespaces, 'sh', '-c', script, 'sh', this.disk, this.place, name, core];
    args.push(process.execPath, proxyProgram);
    this.#up = spawn(program!, [...enter, ...args], {
      stdio: ['ignore', log, log],
      env: childEnvironment({
        NO_COLOR: '1',
        TMPDIR: join(this.place, 'tmp'),
        NODE_OPTIONS: `${fixture(`record.ts?to=${history}`)} ${fixture(`skew.ts?ms=${skewMs}`)}`,
        CORE_PASS_ENV: 'NODE_OPTIONS',
      }),
    });
    closeSync(log);
  }

  /** As when its power is cut. */
  async kill(): Promise<void> {
    const up = this.#up;
    this.#up = null;
    if (up === null || up.exitCode !== null || up.signalCode !== null) return;
    const ended = once(up, 'exit');
    up.kill('SIGKILL');
    await ended;
    await until(`the end of host ${this.name}`, () => {
      this.signal('SIGKILL');
      return this.#options.network.pids(this.name).length === 0;
    });
  }

  /** To all processes, or those of one service. @returns how many got it */
  signal(signal: NodeJS.Signals, service?: string): number {
    const pids = this.#options.network
      .pids(this.name)
      .filter((pid) => service === undefined || commandOf(pid).includes(`/services/${service}/main.ts`));
    for (const pid of pids) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
    return pids.length;
  }

  async answers(port: Port): Promise<boolean> {
    const signal = AbortSignal.timeout(5_000);
    const reply = await fetch(`${this.url(port)}/healthz`, { signal }).catch(() => null);
    await reply?.arrayBuffer();
    return reply?.status === 200;
  }

  async ready(): Promise<void> {
    for (const port of ['agentd', 'models', 'bridge'] as const)
      await until(`${port} of host ${this.name}`, () => this.answers(port));
  }

  fillDisk(): void {
    const file = openSync(this.#filling, 'a');
    const block = Buffer.alloc(1 << 20);
    try {
      while (statfsSync(this.disk).bfree > 0)
        writeSync(file, block, 0, Math.min(block.length, statfsSync(this.disk).bfree * 4096));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  }

  freeDisk(): void {
    rmSync(this.#filling, { force: true });
  }

  get #filling(): string {
    return join(this.disk, 'filling');
  }

  /** Leaves a copy of what is on the disk in the trial's folder. */
  keep(): void {
    execFileSync('cp', ['-a', this.disk, join(this.#options.folder, `kept-${this.name}`)]);
  }

  close(): void {
    this.#closed();
    this.#up?.kill('SIGKILL');
    try {
      execFileSync('umount', ['--lazy', this.disk], { stdio: 'ignore' });
    } catch {
      // It is gone already.
    }
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
