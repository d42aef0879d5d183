import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tokenNameFor } from '#kit/tokens/token.ts';
import { until } from '../fixtures/until.ts';
import { freePort } from '../support/free-port.ts';

const program = fileURLToPath(new URL('../../bin/core-context', import.meta.url));

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

/** core-context as a process with a home of its own. */
export interface ContextProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** What it said so far. */
  said(): string;
  /** With the person's token unless `token` is null. */
  ask(method: 'GET' | 'POST', path: string, body?: unknown, options?: AskOptions): Promise<Answer>;
  get(path: string): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
  /** SIGTERM, unless it is gone; gives its exit code. */
  stop(): Promise<number | null>;
  kill(): Promise<void>;
}

export interface AskOptions {
  readonly token?: string | null;
  readonly type?: string;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Program and arguments before it, for example to enter a name space. */
  readonly within?: readonly string[];
  /** File of the certificate that it is configured with: it answers with TLS. */
  readonly certificate?: string;
}

/** Resolves when it answers. @throws Error with what it said when it ends before that */
export async function startContext(
  home: string,
  { env = {}, within = [], certificate }: StartOptions = {},
): Promise<ContextProcess> {
  const port = await freePort();
  const url = `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  const [first, ...rest] = [...within, program, 'serve', '--home', home];
  const child = spawn(first!, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CORE_CONTEXT_PORT: String(port), ...env },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk;
    });
  }
  const ended = once(child, 'close');
  await until(
    () => `core-context to answer: ${said}`,
    async () => {
      if (child.exitCode !== null || child.signalCode !== null)
        throw Object.assign(new Error(`core-context does not answer: ${said}`), { exitCode: child.exitCode });
      return answers(url, certificate);
    },
  );
  const person = join(home, 'config/tokens', `${tokenNameFor(userInfo().username)}.token`);

  async function ask(
    method: string,
    path: string,
    body: unknown,
    { token, type }: AskOptions = {},
  ): Promise<Answer> {
    const bearer = token === undefined ? readFileSync(person, 'utf8').trim() : token;
    const headers: Record<string, string> = {};
    if (bearer !== null) headers.authorization = `Bearer ${bearer}`;
    if (body !== undefined) headers['content-type'] = type ?? 'application/json';
    const sent = body === undefined || typeof body === 'string' ? (body ?? null) : JSON.stringify(body);
    const answer = await fetch(`${url}${path}`, { method, headers, body: sent });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    return { status: answer.status, headers: answer.headers, text, json: isJson ? safeJson(text) : null };
  }

  return {
    url,
    child,
    said: () => said,
    ask: (method, path, body, options) => ask(method, path, body, options),
    get: (path) => ask('GET', path, undefined),
    post: (path, body) => ask('POST', path, body),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await ended;
      return child.exitCode;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** JSON Lines are no JSON. */
async function answers(url: string, certificate: string | undefined): Promise<boolean> {
  if (certificate === undefined) {
    const answer = await fetch(`${url}/healthz`).catch(() => null);
    await answer?.arrayBuffer();
    return answer !== null;
  }
  return new Promise((resolve) => {
    const asked = request(`${url}/healthz`, { ca: readFileSync(certificate) }, (answer) => {
      answer.resume().once('end', () => resolve(true));
    });
    asked.once('error', () => resolve(false)).end();
  });
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
