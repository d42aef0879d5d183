import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolveFolders } from '#kit/folders.ts';
import { ownToken } from '#kit/tokens/tokens.ts';
import { until } from '../fixtures/until.ts';
import { freePort } from '../support/free-port.ts';

const program = fileURLToPath(new URL('../../bin/core-model-gateway', import.meta.url));

/** core-model-gateway as a process, with a home that is there already or is made. */
export interface GatewayProcess {
  readonly url: string;
  readonly child: ChildProcess;
  readonly home: string;
  /** The person's token. */
  readonly token: string;
  /** What it said so far. */
  said(): string;
  ask(method: string, path: string, body?: unknown, token?: string | null): Promise<Response>;
  /** SIGTERM; gives its exit code. */
  stop(): Promise<number | null>;
  kill(): Promise<void>;
  /** A new process in place of this one, which has ended. */
  again(): Promise<GatewayProcess>;
}

/** Writes `models.json` with a free port, and the secrets. */
export async function configureGateway(
  home: string,
  config: object,
  secrets: Readonly<Record<string, string>> = {},
): Promise<number> {
  const port = await freePort();
  mkdirSync(join(home, 'config/secrets'), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, 'config/models.json'), JSON.stringify({ port, ...config }));
  for (const [name, value] of Object.entries(secrets))
    writeFileSync(join(home, 'config/secrets', name), `${value}\n`, { mode: 0o600 });
  return port;
}

/** Resolves when it answers. @throws Error with what it said when it ends before that */
export async function startGatewayProcess(
  home: string,
  env: Readonly<Record<string, string>> = {},
  otherPort?: number,
): Promise<GatewayProcess> {
  const port = otherPort ?? JSON.parse(readFileSync(join(home, 'config/models.json'), 'utf8')).port;
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(program, ['serve', '--home', home, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk;
    });
  }
  const ended = once(child, 'close');
  await until(
    () => `core-model-gateway to answer: ${said}`,
    async () => {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`core-model-gateway does not answer: ${said}`);
      const answer = await fetch(`${url}/healthz`).catch(() => null);
      await answer?.arrayBuffer();
      return answer !== null;
    },
  );
  const token = ownToken(resolveFolders({ home }, {} as never)).text;
  return {
    url,
    child,
    home,
    token,
    said: () => said,
    ask: (method, path, body, given = token) =>
      fetch(`${url}${path}`, {
        method,
        headers: {
          ...(given === null ? {} : { authorization: `Bearer ${given}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await ended;
      return child.exitCode;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    again: () => startGatewayProcess(home, env, otherPort),
  };
}
