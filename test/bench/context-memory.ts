import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Benchmark, Comparison } from './comparison.ts';
import { someWords, writeRecord } from './context-record.ts';

const nodes = 100_000;
const searches = 200;
const megabytes = { service: 250, cypher: 500 };
const program = fileURLToPath(new URL('../../bin/core-context', import.meta.url));

/** What is resident after a restart, when it has answered for a while; of the Cypher child when it has answered one query. */
export const contextMemory: Benchmark = {
  summary: `memory of core-context with ${nodes.toLocaleString('en')} nodes, after a restart`,
  async run(folder) {
    writeRecord(join(folder, 'state'), nodes);
    const service = await start(folder);
    try {
      for (let n = 0; n < searches; n++)
        await post(`${service.url}/v1/graphrag/search`, { query: someWords(6, n) });
      await post(`${service.url}/v1/memory/lookup`, { query: someWords(6, 1) });
      const own = residentOf(service.pid);
      await post(`${service.url}/v1/graphdb/cypher`, {
        query: 'MATCH (n:CoreEntity) RETURN count(n) AS nodes',
      });
      const child = Math.max(...childrenOf(service.pid).map(residentOf));
      return [
        comparison('core-context resident', own, megabytes.service),
        comparison('its Cypher child resident', child, megabytes.cypher),
      ];
    } finally {
      await service.stop();
    }
  },
};

function comparison(subject: string, bytes: number, most: number): Comparison {
  const ratio = bytes / (most * 1024 * 1024);
  return {
    subject,
    yardstick: `${most} MB`,
    measure: 'memory',
    bar: 1,
    ratio,
    spread: [ratio, ratio],
    rounds: 1,
  };
}

interface Service {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

async function start(home: string): Promise<Service> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { ...process.env, CORE_CONTEXT_PORT: String(port), CORE_LOG_LEVEL: 'warn' };
  const child: ChildProcess = spawn(program, ['serve', '--home', home], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  for (let asked = 0; !(await answers(`${url}/healthz`)); asked++) {
    if (asked === 300 || child.exitCode !== null) throw new Error(`core-context does not answer at ${url}`);
    await setTimeout(100);
  }
  return {
    url,
    pid: child.pid!,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => null);
  await answer?.arrayBuffer();
  return answer?.ok === true;
}

async function post(url: string, body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${text}`);
}

/** Bytes; `VmRSS` of proc(5). */
function residentOf(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib ?? 0) * 1024;
}

/** All below a process, however deep. */
function childrenOf(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name): [number, number] => [Number(name), parentOf(name)]);
  const below = (of: number): number[] =>
    parents.filter(([, parent]) => parent === of).flatMap(([child]) => [child, ...below(child)]);
  return below(pid);
}

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
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
