import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { execa, type Options } from 'execa';
import { guarded } from '#kit/callbacks.ts';
import { Health } from '#kit/contracts/health.ts';
import { childEnvironment } from '#kit/environment.ts';
import { exitCodes, Failed, Interrupted, NotFound, Unavailable } from '#kit/errors.ts';
import { createHttpClient } from '#kit/http/client.ts';
import { nodeFlags } from '#kit/node-flags.ts';

/** Runs a program to its end and gives its standard output. @throws Failed (`quickstart_step_failed`) with what it printed */
export async function runQuietly(
  program: string,
  args: readonly string[],
  accept: readonly number[] = [0],
): Promise<string> {
  const { exitCode, stdout, stderr } = await run(program, args, { stdout: 'pipe', stderr: 'pipe' });
  if (accept.includes(exitCode)) return stdout;
  throw new Failed(
    'quickstart_step_failed',
    `${program} ${args.slice(0, 4).join(' ')} … failed (${exitCode}): ${(stderr || stdout).trim()}`,
  );
}

/** Runs a program that writes to the terminal itself; gives its exit code. */
export async function runOpenly(program: string, args: readonly string[]): Promise<number> {
  const { exitCode } = await run(program, args, { stdout: 'inherit', stderr: 'inherit' });
  if (exitCode === exitCodes.interrupted) throw new Interrupted('interrupted', 'stopped by you');
  return exitCode;
}

/** @throws NotFound (`program_missing`) */
async function run(program: string, args: readonly string[], output: Pick<Options, 'stdout' | 'stderr'>) {
  const ended = await execa(program, args, {
    ...output,
    stdin: 'ignore',
    extendEnv: false,
    env: childEnvironment({}),
    reject: false,
  });
  if (ended.exitCode === undefined && ended.signal === undefined)
    throw new NotFound('program_missing', `${program} cannot be started: ${ended.shortMessage}`, {
      cause: ended,
      hint: `Install ${program}; ./core doctor shows what else is missing.`,
    });
  const interrupted = ended.signal === 'SIGINT' ? exitCodes.interrupted : exitCodes.failed;
  return {
    exitCode: ended.exitCode ?? interrupted,
    stdout: String(ended.stdout ?? ''),
    stderr: String(ended.stderr ?? ''),
  };
}

export interface Daemon {
  readonly url: string;
  readonly port: number;
  /** Ends it and waits until it is gone. */
  stop(): Promise<void>;
}

interface DaemonOptions {
  /** `agentd` or `context`: its folder, and its name after `core-`. */
  readonly service: 'agentd' | 'context';
  readonly home: string;
  readonly port: number;
  readonly logFile: string;
}

/** Starts a service as a child and waits until it answers. It ends with this process, however that ends. By Node's spawn: execa hands on no open file, and would copy the log through this process. */
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
    child.once(
      'close',
      guarded('the quickstart', () => {
        process.off('exit', end);
        resolve();
      }),
    );
    child.once('error', () => resolve());
  });
  const url = `http://127.0.0.1:${port}`;
  try {
    await waitForHealth(url, child);
  } catch (error) {
    child.kill('SIGKILL');
    await ended;
    const lastLines = readFileSync(logFile, 'utf8').trim().split('\n').slice(-5).join('\n');
    throw new Unavailable(
      'daemon_not_up',
      `core-${service} does not answer on ${url}. The end of its log:\n${lastLines}`,
      { cause: error },
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

async function waitForHealth(baseUrl: string, child: ChildProcess): Promise<void> {
  const client = createHttpClient({ baseUrl, timeoutMs: 10_000 });
  const deadline = Date.now() + 60_000;
  try {
    while (child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
      if (await client.get('/healthz', Health).catch(() => null)) return;
      await pause(100);
    }
  } finally {
    await client.close();
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
