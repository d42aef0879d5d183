import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StackNote } from '#kit/contracts/stack-note.ts';
import { nodeFlags } from '#kit/node-flags.ts';

const dispatcher = fileURLToPath(new URL('../../services/supervisor/start.js', import.meta.url));

/** `core up` as a process, each service on a port of its own. */
export interface Stack {
  readonly child: ChildProcess;
  /** Everything that it said. */
  said(): string;
  note(): StackNote;
  /** Where the HTTP interface of a service is. */
  url(service: string): string;
  /** Resolves when it has printed where everything answers; rejects with its output if it ends before. */
  ready(): Promise<void>;
  /** Ctrl-C; resolves with the exit code and how long it took in milliseconds. */
  end(): Promise<{ readonly code: number | null; readonly took: number }>;
}

const anyPort = [
  '--port',
  '--context-port',
  '--models-port',
  '--bridge-port',
  '--bus-port',
  '--bus-http-port',
];

export function startStack(home: string, ...more: readonly string[]): Stack {
  const ports = anyPort.flatMap((flag) => [flag, '0']);
  const child = spawn(process.execPath, [...nodeFlags, dispatcher, 'up', ...ports, ...more, '--home', home], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const heard = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      for (const listener of heard) listener();
    });
  }
  const closed = once(child, 'close') as Promise<[number | null]>;
  const note = () => JSON.parse(readFileSync(join(home, 'state/supervisor/stack.json'), 'utf8')) as StackNote;
  return {
    child,
    said: () => said,
    note,
    url: (service) => note().services[service]!.url!,
    ready: () =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!/^next {3}/m.test(said)) return;
          heard.delete(look);
          resolve();
        };
        heard.add(look);
        void closed.then(() => reject(new Error(`core up ended:\n${said}`)));
        look();
      }),
    async end() {
      const started = performance.now();
      child.kill('SIGINT');
      const [code] = await closed;
      return { code, took: performance.now() - started };
    },
  };
}
