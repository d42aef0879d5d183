import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { runningService } from '#kit/config/running-service.ts';
import { ensureTokens, ownToken } from '#kit/tokens/tokens.ts';
import { EventQueue } from '../../services/bridge/queue/event-queue.ts';
import type { NewEvent } from '../../services/bridge/queue/stored-event.ts';
import { queueConfig } from '../fixtures/bridge/queue-config.ts';
import { storageIn } from '../fixtures/bridge/storage-place.ts';
import { type Benchmark, type Comparison, compare, takeTurns } from './comparison.ts';

const program = fileURLToPath(new URL('../../services/bridge/main.ts', import.meta.url));
const atOnce = 32;
const perTurn = 600;
const many = 100_000;
const few = 100;
const rounds = 8;

export const bridge: Benchmark = {
  summary: `events that come in, ${atOnce} at a time; ${many.toLocaleString('en')} pending ones listed`,
  async run(folder) {
    return [await ingress(join(folder, 'ingress')), await listing(folder)];
  },
};

async function ingress(home: string): Promise<Comparison> {
  const server = await startBridge(home);
  const commits = bareCommits(home);
  try {
    let sent = 0;
    const samples = await takeTurns(rounds, {
      core: () => perSecond(perTurn, () => server.post(eventText(sent++)), atOnce),
      bare: () => perSecond(perTurn, async () => commits.one(eventText(sent++)), 1),
    });
    const what = {
      subject: 'POST /v1/ingress/dashboard-issue',
      yardstick: 'bare commits of SQLite',
      bar: 0.2,
    };
    return compare({ ...what, measure: 'rate' }, samples.core, samples.bare);
  } finally {
    commits.close();
    await server.stop();
  }
}

async function listing(folder: string): Promise<Comparison> {
  const homes = { many: join(folder, 'many'), few: join(folder, 'few') };
  await fill(homes.many, many);
  await fill(homes.few, few);
  const servers = { many: await startBridge(homes.many), few: await startBridge(homes.few) };
  const path = '/v1/events/pending?limit=100';
  const time = async (server: RunningBridge) => 1 / (await perSecond(100, () => server.get(path), 1));
  try {
    const samples = await takeTurns(rounds, {
      many: () => time(servers.many),
      few: () => time(servers.few),
    });
    const what = {
      subject: `pending events listed among ${many}`,
      yardstick: `the same among ${few}`,
      bar: 3,
    };
    return compare({ ...what, measure: 'time' }, samples.many, samples.few);
  } finally {
    await servers.many.stop();
    await servers.few.stop();
  }
}

interface RunningBridge {
  get(path: string): Promise<void>;
  post(body: string): Promise<void>;
  stop(): Promise<void>;
}

async function startBridge(home: string): Promise<RunningBridge> {
  const folders = { tokens: join(home, 'config/tokens') };
  ensureTokens(folders);
  const authorization = `Bearer ${ownToken(folders).text}`;
  const args = ['--disable-warning=ExperimentalWarning', program, 'serve', '--home', home, '--port', '0'];
  const env = { ...process.env, CORE_LOG_LEVEL: 'error', CORE_BUS_URL: 'ws://127.0.0.1:9' };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'exit');
  for (;;) {
    const running = runningService('core-bridge', { state: join(home, 'state') });
    if (running !== null) return client(running.url);
    if (child.exitCode !== null) throw new Error('core-bridge ended');
    await setTimeout(50);
  }

  function client(url: string): RunningBridge {
    const pool = new Pool(url, { connections: atOnce });
    const headers = { authorization, 'content-type': 'application/json' };
    const ask = async (method: 'GET' | 'POST', path: string, status: number, body?: string) => {
      const answer = await pool.request({ method, path, headers, body: body ?? null });
      await answer.body.dump();
      if (answer.statusCode !== status) throw new Error(`${method} ${path} answered ${answer.statusCode}`);
    };
    return {
      get: (path) => ask('GET', path, 200),
      post: (body) => ask('POST', '/v1/ingress/dashboard-issue', 202, body),
      async stop() {
        await pool.close();
        child.kill('SIGTERM');
        await ended;
      },
    };
  }
}

/** Rows of the same text in a file beside the bridge's own, each a commit that is on the disk. */
function bareCommits(home: string): { one(text: string): void; close(): void } {
  mkdirSync(home, { recursive: true });
  const db = new DatabaseSync(join(home, 'bare.sqlite'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE texts (text TEXT) STRICT');
  const insert = db.prepare('INSERT INTO texts VALUES (?)');
  return { one: (text) => void insert.run(text), close: () => db.close() };
}

async function perSecond(count: number, work: () => Promise<void>, concurrency: number): Promise<number> {
  let left = count;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) await work();
    }),
  );
  return count / ((performance.now() - started) / 1000);
}

function eventText(number: number): string {
  return JSON.stringify({
    event_id: `event-${number}`,
    kind: 'issue.status_changed',
    occurred_at: '2026-01-01T00:00:00Z',
    issue: {
      ...{ id: `T-${number}`, title: 'Greeting is wrong when the name is empty', status: 'todo' },
      ...{ role: 'default', labels: ['bug', 'core'] },
      forge: { owner: 'demo', repo: 'hello', number: (number % 1_000) + 1, name: 'local' },
    },
    actor: 'mira',
  });
}

async function fill(home: string, count: number): Promise<void> {
  const storage = storageIn(join(home, 'state'));
  const queue = new EventQueue(storage, queueConfig);
  for (let from = 0; from < count; from += 500) {
    const batch = Array.from({ length: Math.min(500, count - from) }, (_, index) => pending(from + index));
    await Promise.all(batch.map((event) => queue.accept(event)));
  }
  await storage.close();
}

function pending(number: number): NewEvent {
  return {
    event_id: `event-${number}`,
    source: 'dashboard',
    body_sha256: `${number}`,
    content: {
      kind: 'issue.created',
      occurred_at: '2026-01-01T00:00:00Z',
      issue: { id: `T-${number}`, title: 'Greeting is wrong', status: 'todo', labels: ['bug'], url: null },
      actor: 'mira',
    },
    target: { forge: 'local', owner: 'demo', repo: 'hello', number: number + 1 },
    role: { key: 'default', name: 'Depute' },
    skip: null,
    notes: [],
    by: 'token:bench',
  };
}
