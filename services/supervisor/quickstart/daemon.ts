import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '#kit/environment.ts';
import { Unavailable } from '#kit/errors.ts';
import { nodeFlags } from '#kit/node-flags.ts';

export interface Daemon {
  readonly url: string;
  readonly port: number;
  /** Ends it and waits until it is gone. */
  stop(): Promise<void>;
}

export interface DaemonOptions {
  /** `agentd` or `context`: its folder, and its name after `core-`. */
  readonly service: 'agentd' | 'context';
  readonly home: string;
  readonly port: number;
  readonly logFile: string;
}

/** Starts a service as a child and waits until it answers. It ends with this process, however that ends. */
export async function startDaemon({ service, home, port, logFile }: DaemonOptions): Promise<Daemon> {
  const log = openSync(logFile, 'a', 0o600);
  const main = fileURLToPath(new URL(`../../${service}/main.ts`, import.meta.url));
  const variable = `CORE_${service.toUpperCase()}`;
  const child = spawn(process.execPath, [...nodeFlags, main, 'serve', '--home', home], {
    // With a channel the daemon ends with this process, even when that is killed.
    stdio: ['ignore', log, log, 'ipc'],
    env: childEnvironment({ [`${variable}_PORT`]: String(port), [`${variable}_HOST`]: '127.0.0.1' }),
  });
  closeSync(log);
  const end = () => void child.kill('SIGKILL');
  process.on('exit', end);
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => {
      process.off('exit', end);
      resolve();
    });
    child.once('error', () => resolve());
  });
  const url = `http://127.0.0.1:${port}`;
  try {
    await waitForHealth(url, child);
  } catch (error) {
    child.kill('SIGKILL');
    await ended;
    const said = readFileSync(logFile, 'utf8').trim().split('\n').slice(-5).join('\n');
    throw new Unavailable(
      'daemon_not_up',
      `core-${service} does not answer on ${url}. Its last words:\n${said}`,
      {
        cause: error,
      },
    );
  }
  return {
    url,
    port,
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
      await ended;
      clearTimeout(timer);
    },
  };
}

async function waitForHealth(url: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) break;
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(10_000) }).catch(() => null);
    if (answer?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Unavailable(
    'daemon_not_up',
    child.exitCode === null ? 'no answer in time' : `it ended with ${child.exitCode}`,
  );
}

/** The wished port of the loopback interface, or any free one where that is taken. */
export async function freePort(wished: number): Promise<number> {
  return (await tryPort(wished)) ?? (await tryPort(0)) ?? wished;
}

function tryPort(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : null));
    });
  });
}
