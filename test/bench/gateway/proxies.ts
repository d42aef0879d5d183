import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolveFolders } from '#kit/folders.ts';
import { createToken } from '#kit/tokens/tokens.ts';

/** Where chat completions are asked for. */
export interface Target {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Something between the load and the fake upstream, in a process of its own. */
export interface ProxyProcess extends Target {
  /** Resident memory in bytes: now, and the most since the last reset. */
  memory(): number;
  peak(): number;
  resetPeak(): void;
  stop(): Promise<void>;
}

const json = { 'content-type': 'application/json' };
const program = fileURLToPath(new URL('../../../bin/core-model-gateway', import.meta.url));
const portkeyVersion = '1.15.2';
const portkeyFolder = fileURLToPath(
  new URL(`../../../node_modules/.cache/bench-portkey-${portkeyVersion}/`, import.meta.url),
);

export async function startBare(upstream: string): Promise<ProxyProcess> {
  const child = fork(fileURLToPath(new URL('bare-proxy.ts', import.meta.url)), [upstream]);
  const [port] = await once(child, 'message');
  return proxyOf(child, `http://127.0.0.1:${port}/v1/chat/completions`, json);
}

/** As it is shipped: with its ledger, its accounts and its metrics. */
export async function startCore(upstream: string, home: string): Promise<ProxyProcess> {
  const port = await freePort();
  const folders = resolveFolders({ home }, {} as never);
  mkdirSync(folders.secrets, { recursive: true });
  writeFileSync(join(folders.secrets, 'bench'), 'sk-bench-0123456789abcdefghij', { mode: 0o600 });
  const price = { input: 1, output: 2 };
  const entry = { base_url: upstream, model: 'bench-1', credential: 'bench', price };
  const models = {
    bench: { upstreams: [{ ...entry, kind: 'openai', responses: true }] },
    claude: { upstreams: [{ ...entry, kind: 'anthropic' }] },
  };
  writeFileSync(join(folders.config, 'models.json'), JSON.stringify({ port, models }));
  const { text } = createToken(folders, { name: 'bench', scopes: ['model'] });
  const env = { ...process.env, CORE_LOG_LEVEL: 'warn' };
  const child = spawn(program, ['serve', '--home', home], { env, stdio: ['ignore', 'inherit', 'inherit'] });
  await answers(`http://127.0.0.1:${port}/healthz`, child);
  const headers = { ...json, authorization: `Bearer ${text}` };
  return proxyOf(child, `http://127.0.0.1:${port}/v1/chat/completions`, headers);
}

/** null where it is not there and cannot be installed. */
export async function startPortkey(upstream: string): Promise<ProxyProcess | null> {
  const start = join(portkeyFolder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  if (!existsSync(start) && !(await installPortkey())) return null;
  const port = await freePort();
  const args = [start, `--port=${port}`, '--headless'];
  const child = spawn(process.execPath, args, { stdio: 'ignore', cwd: portkeyFolder });
  await answers(`http://127.0.0.1:${port}/`, child);
  return proxyOf(child, `http://127.0.0.1:${port}/v1/chat/completions`, {
    ...json,
    authorization: 'Bearer sk-bench',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': upstream,
  });
}

async function installPortkey(): Promise<boolean> {
  mkdirSync(portkeyFolder, { recursive: true });
  const what = `@portkey-ai/gateway@${portkeyVersion}`;
  const args = [
    'install',
    '--ignore-scripts',
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--prefix',
    portkeyFolder,
    what,
  ];
  const child = spawn('npm', args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: portkeyFolder });
  let said = '';
  child.stderr.on('data', (piece) => {
    said += piece;
  });
  const [code] = await once(child, 'close');
  if (code === 0) return true;
  process.stderr.write(
    `${what} cannot be installed, so that nothing is compared with it: ${said.trim().slice(0, 300)}\n`,
  );
  return false;
}

function proxyOf(child: ChildProcess, url: string, headers: Readonly<Record<string, string>>): ProxyProcess {
  const status = `/proc/${child.pid}/status`;
  const bytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(status, 'utf8'))![1]) * 1024;
  return {
    url,
    headers,
    memory: () => bytes('VmRSS'),
    peak: () => bytes('VmHWM'),
    // 5 sets the peak to what is resident now; see proc_pid_clear_refs(5).
    resetPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), 8_000);
      await ended;
      clearTimeout(late);
    },
  };
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  for (let asked = 0; ; asked++) {
    const answer = await fetch(url).catch(() => null);
    await answer?.arrayBuffer();
    if (answer !== null) return;
    if (asked === 200 || child.exitCode !== null) throw new Error(`nobody answers at ${url}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
